"""The files of experience: events of each collection, appended, and read as they grow."""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from letopis.errors import InvalidInput, Unreadable
from letopis.model import jsonl, names
from letopis.model.bank import Bank
from letopis.settings import Clock
from letopis.store import files
from letopis.store.locks import Locks
from letopis.store.workspace import Workspace

_OVERLAP = 64


@dataclass(slots=True)
class _Read:
    """How far a file was read."""

    identity: tuple[int, int]
    size: int = 0
    stamp: tuple[int, int] = (0, 0)
    end: bytes = b""


class Experience:
    """The collections of one workspace."""

    def __init__(self, workspace: Workspace, locks: Locks, clock: Clock) -> None:
        self._workspace, self._locks, self._clock = workspace, locks, clock
        self._guard = threading.RLock()
        self._held = False
        self._bank = Bank()
        self._read: dict[Path, _Read] = {}

    @property
    def exists(self) -> bool:
        """Whether there is anything to read; costs one look at the folder."""
        return self._workspace.experience.is_dir()

    @contextmanager
    def reading(self) -> Iterator[Bank]:
        """The bank as it is now; of files that have grown only the new lines are read. Raises Unreadable."""
        with self._guard:
            yield self._current()

    @contextmanager
    def changing(self) -> Iterator[Bank]:
        """The same, while no other program changes it."""
        with self._guard, self._alone():
            yield self._current()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._held:
            yield
            return
        with self._locks.hold("experience"):
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def _current(self) -> Bank:
        paths = self._files()
        if any(not self._continues(path) for path in self._read.keys() | set(paths)):
            self._bank, self._read = Bank(), {}
        for path in paths:
            self._follow(path)
        return self._bank

    def damaged(self) -> list[tuple[str, list[int]]]:
        """The files with lines that say nothing, and the numbers of those lines."""
        found = []
        for path in self._files():
            bank, numbers = Bank(), []
            for number, line in enumerate((files.read(path) or b"").split(b"\n"), 1):
                before = bank.bad
                bank.feed(path.stem, line + b"\n")
                numbers += [number] if bank.bad > before or (line and not line.strip(b"\0")) else []
            found += [(self._workspace.relative(path), numbers)] if numbers else []
        return found

    def append(self, collection: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add events to a collection, with the time of each; they are on disk when this returns."""
        path = self._workspace.contained(self._path(collection))
        now = names.stamp(self._clock.now())
        with self._guard, self._alone():
            new = not path.exists()
            if new:
                with files.writing(path, "the folder of"):
                    path.parent.mkdir(parents=True, exist_ok=True)
            first = [{"_type": "collection", "name": collection, "at": now}] if new else []
            lines = [jsonl.encode({**record, "at": now}) for record in (*first, *records)]
            files.append(path, b"".join(lines))
            if new:
                files.sync_folder(path.parent)

    def _path(self, collection: str) -> Path:
        """The file of a collection, by the name of the file, by its own name, or by what the name would give."""
        known = {path.stem: path for path in self._files()}
        if collection in known:
            return known[collection]
        named = (known[stem] for stem, name in self._bank.names.items() if name == collection and stem in known)
        return next(named, self._workspace.experience / f"{slug_of(collection)}.jsonl")

    def _files(self) -> list[Path]:
        folder = self._workspace.experience
        found = folder.glob("*.jsonl") if folder.is_dir() else ()
        return sorted(p for p in found if p.name[0] not in "._" and p.is_file() and not p.is_symlink())

    def _continues(self, path: Path) -> bool:
        """Whether a file is the one that was read, as it was or grown; one not yet read continues."""
        read = self._read.get(path)
        if read is None:
            return True
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            return False
        if (stat.st_dev, stat.st_ino) != read.identity or stat.st_size < read.size:
            return False
        if read.stamp in ((0, 0), (stat.st_size, stat.st_mtime_ns)):
            return True
        return stat.st_size > read.size and self._ends_alike(path, read)

    @staticmethod
    def _ends_alike(path: Path, read: _Read) -> bool:
        """Whether what was read still ends as it did: a file that somebody edited is read anew."""
        with path.open("rb") as file:
            return files.read_from(file.fileno(), read.size - len(read.end), len(read.end)) == read.end

    def _follow(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                stat = os.fstat(file.fileno())
                read = self._read.setdefault(path, _Read((stat.st_dev, stat.st_ino)))
                read.stamp = (stat.st_size, stat.st_mtime_ns)
                if stat.st_size == read.size:
                    return
                data = files.read_from(file.fileno(), read.size)
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {error.strerror}; check its permissions") from None
        whole = data.rfind(b"\n") + 1
        self._bank.feed(path.stem, data[:whole])
        read.size += whole
        read.end = (read.end + data[:whole])[-_OVERLAP:]


def slug_of(collection: str) -> str:
    """The name of a collection's file. Raises InvalidInput."""
    if not collection.strip():
        raise InvalidInput("a collection needs a name, such as 'returns' or «Доставка»")
    digest = sha256(collection.encode("utf-8", "replace")).hexdigest()[:8]
    return names.slug(collection, f"collection-{digest}")
