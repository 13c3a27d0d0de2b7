"""Notes that an assistant keeps for itself, below `memory/notes/`: written, changed, moved and removed by it.

Nothing outside that folder is reached. What is replaced or removed is kept among the backups.
"""

import os
from pathlib import Path

from letopis.errors import InvalidInput, OutsideWorkspace
from letopis.model import names
from letopis.settings import Clock
from letopis.store import files
from letopis.store.locks import Locks
from letopis.store.workspace import Workspace

_FOLDER = "memory/notes"
_ENDING = ".md"
LARGEST = 1 << 20


class KeptNotes:
    """Files by their names below the folder; each is kept as Markdown, so that it is searched."""

    def __init__(self, workspace: Workspace, locks: Locks, clock: Clock) -> None:
        self._workspace, self._locks, self._clock = workspace, locks, clock

    def names(self) -> list[str]:
        """All files, by name."""
        root = self._workspace.root / _FOLDER
        found = (p for p in root.rglob(f"*{_ENDING}") if p.is_file() and not p.is_symlink()) if root.is_dir() else ()
        return sorted(p.relative_to(root).as_posix().removesuffix(_ENDING) for p in found if p.name[0] != ".")

    def read(self, name: str) -> str | None:
        """The text of a file, or None where there is none. Raises Unreadable and InvalidInput."""
        data = files.read(self._path(name))
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, name: str, text: str, expected: str | None = None) -> bool:
        """Put a text in place; with `expected` only where the file still has that text, else False."""
        data = text.encode("utf-8", "replace")
        if len(data) > LARGEST:
            raise InvalidInput(f"a note may have {LARGEST} bytes; this one has {len(data)}")
        path = self._path(name)
        with self._locks.hold("notes"):
            before = files.read(path)
            if expected is not None and (before is None or before.decode("utf-8", "replace") != expected):
                return False
            self._keep(path, before)
            files.replace(path, data)
            return True

    def remove(self, name: str, folder: bool = True) -> list[str]:
        """Remove the file of a name, or where there is none all files below that folder; returns their names.

        They are kept among the backups. Without `folder` only a file goes.
        """
        with self._locks.hold("notes"):
            every = self.names()
            below = [one for one in every if one.startswith(f"{name}/")] if folder else []
            gone = [name] if name in every else below
            for one in gone:
                path = self._path(one)
                self._keep(path, files.read(path))
                files.remove(path)
            return gone

    def move(self, old: str, new: str) -> list[str]:
        """Give a file, or all files below a folder, another name. Raises InvalidInput where that is taken."""
        with self._locks.hold("notes"):
            moved = [one for one in self.names() if one == old or one.startswith(f"{old}/")]
            targets = {one: new + one[len(old) :] for one in moved}
            taken = sorted(set(targets.values()) & set(self.names()))
            if taken:
                raise InvalidInput(f"there is a note {taken[0]!r} already; choose another name")
            for one, target in targets.items():
                files.move(self._path(one), self._path(target))
            return sorted(targets.values())

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not name or any(not part or part[0] == "." or len(part.encode("utf-8", "replace")) > 200 for part in parts):
            raise InvalidInput(f"{name!r} is no name of a note: use plain names, with / between folders")
        try:
            path = self._workspace.inside(f"{_FOLDER}/{name}{_ENDING}")
            self._workspace.contained(path)
        except OutsideWorkspace:
            raise InvalidInput(f"{name!r} leads out of the notes") from None
        return path

    def _keep(self, path: Path, data: bytes | None) -> None:
        if data is None:
            return
        stamp = names.minute(self._clock.now())
        copy = self._workspace.backups / f"{path.stem}.{stamp}.{os.urandom(3).hex()}{_ENDING}"
        files.keep_copy(path, copy)
