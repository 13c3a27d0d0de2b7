"""Notes that the memory writes for itself: daily notes, the raw archive, digests, archived facts.

A block is added once: it bears a mark, and a mark that stands in the note already adds nothing.
What a person wrote into a note is never touched.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from letopis.errors import Unreadable
from letopis.model.text import is_unicode, printable
from letopis.store import files
from letopis.store.listing import Listings
from letopis.store.locks import Locks
from letopis.store.workspace import Workspace

LOCK = "notes"
_RAW = "-raw-archive.md"


class Notes:
    """The notes of one workspace, by name: `memory/2026-03-01.md`."""

    def __init__(self, workspace: Workspace, locks: Locks) -> None:
        self._workspace, self._locks = workspace, locks
        self._listings = Listings()

    def read(self, name: str) -> str | None:
        """The text of a note, or None where there is none. Raises Unreadable."""
        data = files.read(self._workspace.inside(name))
        if data is None:
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Unreadable(f"{name} is not UTF-8 at byte {error.start}; save it as UTF-8 in an editor") from None

    def names(self, raw: bool = False) -> list[str]:
        """The notes that may be read and searched, by name; with `raw` those of the raw archive too."""
        found = self._below(self._workspace.memory, self._workspace.relative(self._workspace.memory))
        return sorted(name for name in found if raw or not name.endswith(_RAW))

    def _below(self, folder: Path, name: str) -> Iterator[str]:
        for entry in self._listings.of(folder):
            if entry.name[0] == "." or not is_unicode(entry.name):
                continue
            if entry.is_folder:
                yield from self._below(folder / entry.name, f"{name}/{entry.name}")
            elif entry.is_file and entry.name.endswith(".md"):
                yield f"{name}/{entry.name}"

    def add_block(self, name: str, mark: str, heading: str, lines: Sequence[str], title: str) -> bool:
        """Add a block under its mark to the end of a note; lines that stand in the note already are left out.

        False where the mark stands there already, or no line is left. A new note begins with the title. The block is
        there whole or not at all.
        """
        comment = f"<!-- {mark} -->"
        with self._locks.hold(LOCK):
            while True:
                text = self.read(name)
                if text is not None and comment in text:
                    return False
                known = set((text or "").splitlines())
                fresh = [line for line in lines if line not in known]
                if not fresh:
                    return False
                block = "\n".join([comment, heading, "", *fresh, ""])
                gap = "" if text is None else "\n" if text.endswith("\n") else "\n\n"
                lead = f"# {title}\n\n" if text is None else gap
                if self._extended(name, printable(lead + block).encode()):
                    return True

    def _extended(self, name: str, data: bytes) -> bool:
        """Put the note with more at its end in place; False where somebody changed it meanwhile."""
        path = self._workspace.inside(name)
        before = files.read(path)
        if before is None:
            return files.create(path, data)
        return files.replace(path, before + data, expected=before)

    def put(self, name: str, text: str) -> None:
        """Write a note that is the memory's own from beginning to end."""
        data = printable(text).encode()
        path = self._workspace.inside(name)
        if files.read(path) != data:
            files.replace(path, data)

    def drop_line(self, name: str, part: str) -> bool:
        """Take the lines that hold `part` out of a note; False where there is none."""
        with self._locks.hold(LOCK):
            text = self.read(name)
            if text is None or part not in text:
                return False
            kept = [line for line in text.splitlines(keepends=True) if part not in line]
            files.replace(self._workspace.inside(name), "".join(kept).encode())
            return True
