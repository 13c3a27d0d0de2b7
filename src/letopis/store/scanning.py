"""What there is to index, and what it was like when it was last looked at.

Told in terms of the workspace: notes by name, transcripts by session. The scan opens no file
that it has seen before.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from letopis.errors import OutsideWorkspace, Unreadable
from letopis.model import jsonl
from letopis.model.transcript import Transcript
from letopis.store import files
from letopis.store.session_index import SessionIndex
from letopis.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as it is now. `origin` is "note" or "transcript"; `problem` says why it is left out."""

    name: str
    origin: str
    size: int
    modified: int
    problem: str = ""


class Scanning:
    """The notes and transcripts of one workspace, for the index."""

    def __init__(self, workspace: Workspace, index: SessionIndex) -> None:
        self._workspace, self._index = workspace, index

    def stamps(self, max_bytes: int) -> Iterator[Stamp]:
        """Every note that may be searched and every transcript, live ones first."""
        root = self._workspace.root
        for folder in (self._workspace.live, self._workspace.closing, self._workspace.archive):
            for entry in _entries(folder):
                if entry.name.endswith(".jsonl") and entry.name[0] not in "._":
                    yield self._stamp(entry.path, entry, "transcript", None)
        for path in (root / "MEMORY.md", *_markdown(self._workspace.memory)):
            if not path.name.endswith("-raw-archive.md"):
                yield self._stamp(str(path), None, "note", max_bytes)

    def _stamp(self, path: str, entry: "os.DirEntry[str] | None", origin: str, max_bytes: int | None) -> Stamp:
        name = path[len(os.path.join(self._workspace.root, "")) :].replace(os.sep, "/")
        try:
            found = entry.stat(follow_symlinks=False) if entry is not None else os.lstat(path)
            if stat.S_ISLNK(found.st_mode):
                self._workspace.contained(Path(path))
                found = os.stat(path)
        except FileNotFoundError:
            return Stamp(name, origin, -1, 0)
        except (OSError, OutsideWorkspace) as error:
            return Stamp(name, origin, 0, 0, str(error))
        if max_bytes is not None and found.st_size > max_bytes:
            return Stamp(name, origin, found.st_size, found.st_mtime_ns, f"larger than {max_bytes} bytes")
        return Stamp(name, origin, found.st_size, found.st_mtime_ns)

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
        """What a transcript says from a byte on, and up to which byte it was read.

        An unfinished last line is left for the next time. Raises Unreadable.
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
        return Transcript().feed(data[:whole]), offset + whole


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return


def _markdown(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if name.endswith(".md") and not name.startswith("."):
                yield Path(at) / name
