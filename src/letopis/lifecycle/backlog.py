"""What no model has seen yet: ranges without facts, and sessions without a summary.

Taken oldest first, archived sessions included. It can be stopped anywhere and goes on there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from letopis.errors import LetopisError
from letopis.lifecycle import consolidate as facts
from letopis.lifecycle.shared import is_shared
from letopis.llm import ChatModel
from letopis.model import summary as notes
from letopis.model import tokens
from letopis.model.messages import Message
from letopis.model.session import SessionLine
from letopis.model.transcript import Transcript
from letopis.store import Store


@dataclass(frozen=True, slots=True)
class Waiting:
    """A session with ranges that wait: how many tokens they are, and whether a summary is missing too."""

    line: SessionLine
    tokens: int
    raw_ranges: tuple[tuple[int, int], ...]
    summary: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken from a session, and what stopped it short of the end."""

    line: SessionLine
    changes: int
    note: str
    problem: str


def waiting(store: Store, imported: bool = False, redo: bool = False, session_id: str = "") -> list[Waiting]:
    """The sessions that have something to take, oldest first; imported ones only where they are asked for.

    With `session_id` only that one is looked at.
    """
    out = []
    for line in reversed([store.sessions.get(session_id)] if session_id else store.sessions.all()):
        if (line.metadata.get("import") is not None) != imported or line.state == "closing":
            continue
        try:
            transcript = store.sessions.transcript(line.session_id)
        except LetopisError:
            continue  # the doctor names it
        if is_shared(store, transcript):
            continue
        raw = tuple(store.facts.raw_spans(line.session_id)) if redo else ()
        size = sum(tokens.estimate(m.text) for m in _waiting(store, transcript, raw) if m.spoken)
        missing = _lacks_summary(store, line, transcript, imported)
        if size or missing:
            out.append(Waiting(line, size, raw, missing))
    return out


def _waiting(store: Store, transcript: Transcript, raw: tuple[tuple[int, int], ...]) -> list[Message]:
    own = [m for m in transcript.messages if any(a <= m.n <= b for a, b in raw)]
    return own + facts.pending(store, transcript)


def _lacks_summary(store: Store, line: SessionLine, transcript: Transcript, imported: bool) -> bool:
    if line.state != "archived" or not store.settings.session_memory.enabled:
        return False
    asked = sum(1 for m in transcript.messages if m.spoken and m.role == "user")
    wanted = ("raw", "skipped") if imported else ("raw",)
    return line.summary_status in wanted and asked >= store.settings.session_memory.min_user_messages


def take(
    store: Store, model: ChatModel, chosen: list[Waiting], stop: Callable[[], bool] = lambda: False
) -> Iterator[Taken]:
    """Take what waits, session by session; one that fails stops no other."""
    for one in chosen:
        if stop():
            return
        yield _taken(store, model, one, stop)


def _taken(store: Store, model: ChatModel, one: Waiting, stop: Callable[[], bool]) -> Taken:
    changes, note, session_id = 0, "", one.line.session_id
    try:
        with store.work_lock(session_id, 5.0):
            transcript = store.sessions.transcript(session_id)
            for a, b in one.raw_ranges:
                changes += len(facts.take(store, model, transcript, transcript.standing(a - 1, b), (a, b)).events)
            while not stop() and (batch := facts.consolidate(store, model, transcript)) is not None:
                changes += len(batch.events)
                transcript = store.sessions.transcript(session_id)
            if one.summary and not stop():
                note = _summarised(store, model, one.line, transcript)
    except LetopisError as error:
        return Taken(one.line, changes, note, str(error))
    return Taken(one.line, changes, note, "")


def _summarised(store: Store, model: ChatModel, line: SessionLine, transcript: Transcript) -> str:
    """Write the summary note of an archived session, which had none; the raw one stays and links to it."""
    from letopis.lifecycle.summarise import summarise

    messages = transcript.standing()
    made = summarise(store, model, messages, transcript.folded.text())
    slug = notes.slug_of(made, messages)
    return store.closing.add_note(line, slug, lambda header: notes.render(header, made, messages))
