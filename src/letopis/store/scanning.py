"""What there is to index, and what it was like when it was last looked at.

Told in terms of the workspace: notes by name, transcripts by session. The scan opens no file
that it has seen before.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from letopis.errors import OutsideWorkspace, Unreadable
from letopis.model import jsonl
from letopis.model.text import is_unicode
from letopis.model.transcript import Transcript
from letopis.store import files
from letopis.store.session_index import SessionIndex
from letopis.store.workspace import Workspace

Found = tuple[str, Callable[..., os.stat_result]]


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as it is now. `origin` is "note", "transcript" or "experience"; `problem` says why it is left out."""

    name: str
    origin: str
    size: int
    modified: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """The names of all files there are, and the stamps of those that are not as they are known."""

    names: set[str]
    changed: list[Stamp]


class Scanning:
    """The notes and transcripts of one workspace, for the index."""

    def __init__(self, workspace: Workspace, index: SessionIndex) -> None:
        self._workspace, self._index = workspace, index

    def scan(self, max_bytes: int, known: Mapping[str, tuple[int, int]]) -> Scan:
        """Every note that may be searched and every transcript, live ones first.

        `known` are the size and time of the files by name, as they were last seen. Raises Unreadable
        where a folder cannot be read: what is in it is not gone.
        """
        names: set[str] = set()
        changed: list[Stamp] = []
        root = len(os.path.join(self._workspace.root, ""))
        every = (("transcript", self._transcripts()), ("note", self._notes()), ("experience", self._experience()))
        for origin, entries in every:
            for path, status in entries:
                name = path[root:] if os.sep == "/" else path[root:].replace(os.sep, "/")
                try:
                    found = status(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                names.add(name)
                if known.get(name) != (found.st_size, found.st_mtime_ns) or stat.S_ISLNK(found.st_mode):
                    changed.append(self._stamp(path, name, found, origin, max_bytes))
        return Scan(names, changed)

    def _transcripts(self) -> Iterator[Found]:
        for folder in (self._workspace.live, self._workspace.closing, self._workspace.archive):
            yield from ((e.path, e.stat) for e in _entries(folder, ".jsonl") if e.name[0] not in "._")

    def _experience(self) -> Iterator[Found]:
        yield from ((e.path, e.stat) for e in _entries(self._workspace.experience, ".jsonl") if e.name[0] not in "._")

    def _notes(self) -> Iterator[Found]:
        yield from ((e.path, e.stat) for e in _entries(self._workspace.root, "MEMORY.md") if e.name == "MEMORY.md")
        folders = [str(self._workspace.memory)]
        for folder in folders:
            for entry in _entries(Path(folder), ""):
                if not is_unicode(entry.name):
                    continue  # the doctor names it
                if entry.name.endswith(".md") and entry.name[0] != "." and not entry.name.endswith("-raw-archive.md"):
                    yield entry.path, entry.stat
                elif entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)

    def _stamp(self, path: str, name: str, found: os.stat_result, origin: str, max_bytes: int) -> Stamp:
        try:
            if stat.S_ISLNK(found.st_mode):
                self._workspace.contained(Path(path))
                found = os.stat(path)
        except (OSError, OutsideWorkspace) as error:
            return Stamp(name, origin, 0, 0, str(error))
        large = origin == "note" and found.st_size > max_bytes
        problem = f"larger than {max_bytes} bytes" if large else ""
        return Stamp(name, origin, found.st_size, found.st_mtime_ns, problem)

    def is_live(self, name: str) -> bool:
        """Whether a transcript is that of a live session."""
        return self._workspace.inside(name).parent == self._workspace.live

    def note(self, name: str) -> str:
        """The text of a note. Raises Unreadable."""
        data = files.read(self._workspace.inside(name))
        if data is None:
            raise Unreadable(f"{name} is not there any more")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Unreadable(f"{name} is not UTF-8 at byte {error.start}; save it as UTF-8") from None

    def session_of(self, name: str) -> str:
        """The id of the session in a file; a damaged first line costs reading the whole file."""
        path = self._workspace.inside(name)
        try:
            with path.open("rb") as file:
                first = next(iter(jsonl.lines(file.readline())), None)
        except OSError as error:
            raise Unreadable(f"{name} cannot be read: {error.strerror}") from None
        if isinstance(first, jsonl.GoodLine) and isinstance(first.record.get("session_id"), str):
            return str(first.record["session_id"])
        return self.transcript(name)[0].session_id

    def transcript(self, name: str, offset: int = 0) -> tuple[Transcript, int]:
        """What a transcript says from a byte on, and up to which byte it was read. Raises Unreadable."""
        data, end = self.whole_lines(name, offset)
        return Transcript().feed(data), end

    def whole_lines(self, name: str, offset: int = 0) -> tuple[bytes, int]:
        """The whole lines of a file from a byte on, and where they end; an unfinished last line waits.

        Raises Unreadable.
        """
        path = self._workspace.inside(name)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            raise Unreadable(f"{name} is not there any more") from None
        except OSError as error:
            raise Unreadable(f"{name} cannot be read: {error.strerror}") from None
        whole = data.rfind(b"\n") + 1
        return data[:whole], offset + whole


def _entries(folder: Path, ending: str) -> Iterable["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return sorted((e for e in entries if e.name.endswith(ending)), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise Unreadable(f"{folder} cannot be read: {error.strerror}; what is in it was left as it was") from None
