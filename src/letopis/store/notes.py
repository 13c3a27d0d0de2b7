"""Notes under `memory/`, spoken of by name."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from letopis.errors import OutsideWorkspace, Unreadable
from letopis.store import files
from letopis.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Note:
    """A note's name (its path in the workspace) and text."""

    name: str
    text: str
    modified: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """A note that could not be read, and why."""

    name: str
    reason: str


class Notes:
    """The notes of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read(self, name: str) -> str:
        """The text of a note. Raises Unreadable where there is none or it is damaged."""
        path = self._workspace.inside(name)
        data = files.read(path)
        if data is None:
            raise Unreadable(f"there is no note {name!r}")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Unreadable(f"{name} is not UTF-8 at byte {error.start}; save it as UTF-8") from None

    def searchable(self, max_bytes: int) -> Iterator[Note | Skipped]:
        """Every note that search may show, and every one that it had to skip."""
        root = self._workspace.root
        candidates = [root / "MEMORY.md", *_markdown(self._workspace.memory)]
        for path in candidates:
            name = self._workspace.relative(path)
            if path.name.endswith("-raw-archive.md"):
                continue
            try:
                self._workspace.contained(path)
                stat = path.stat()
                if stat.st_size > max_bytes:
                    yield Skipped(name, f"larger than {max_bytes} bytes")
                    continue
                yield Note(name, self.read(name), stat.st_mtime)
            except FileNotFoundError:
                continue
            except (OutsideWorkspace, Unreadable, OSError) as error:
                yield Skipped(name, str(error))


def _markdown(folder: Path) -> Iterator[Path]:
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(names):
            if name.endswith(".md") and not name.startswith("."):
                yield Path(at) / name
