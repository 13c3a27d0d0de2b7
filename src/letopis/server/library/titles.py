"""What a conversation and a note are called on the pages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from letopis.errors import LetopisError
from letopis.memory import Memory
from letopis.model.session import SessionLine
from letopis.model.summary import kind_of_note
from letopis.model.text import one_line, shorten

_LONGEST = 90


@dataclass(frozen=True, slots=True)
class Titled:
    """A session with the name that a person knows it by."""

    line: SessionLine
    title: str


def titled(memory: Memory, lines: list[SessionLine]) -> list[Titled]:
    """The sessions with their titles: that of the summary, else the first words of the user."""
    return [Titled(line, title_of(memory, line)) for line in lines]


def title_of(memory: Memory, line: SessionLine) -> str:
    """The title of one session."""
    try:
        if line.memory_path:
            heading = first_heading(memory.store.notes.read(line.memory_path) or "")
            if heading:
                return heading
        said = memory.store.sessions.opening(line)
        first = next((m.text for m in said if m.role == "user" and m.spoken and m.text.strip()), "")
        return shorten(one_line(first), _LONGEST) or line.key
    except LetopisError:
        pass  # the health page names what cannot be read
    return line.key


def first_heading(text: str) -> str:
    """What the first heading of a note says."""
    line = next((row for row in text.splitlines()[:20] if row.startswith("#")), "")
    return shorten(line.lstrip("# ").strip(), _LONGEST)


def sessions_of_notes(lines: Iterable[SessionLine]) -> Mapping[str, SessionLine]:
    """The session that each summary note is of, by the note's name."""
    return {line.memory_path: line for line in lines if line.memory_path}


def kind_of(name: str, of_sessions: Mapping[str, SessionLine]) -> str:
    """The kind of a note: raw, summary, daily, digest, archived or note."""
    if name.endswith("-raw-archive.md"):
        return "raw"
    line = of_sessions.get(name)
    if line is not None and line.summary_status == "raw":
        return "raw"
    return kind_of_note(name, line is not None)
