"""What stands in a folder, looked at again only when the folder has changed.

A folder's own time moves when something is added, renamed or removed in it; one that changed just
now is looked at anew, for two changes may bear the same time.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from letopis.errors import Unreadable

_SECOND = 1_000_000_000  # nanoseconds; some file systems count no finer
_SETTLED = 100_000_000
_KEPT = 4_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder, and whether it is a plain file or a folder; links are neither."""

    name: str
    is_file: bool
    is_folder: bool


class Listings:
    """The folders that were looked at last."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[int, tuple[Entry, ...]]] = {}

    def of(self, folder: Path) -> tuple[Entry, ...]:
        """What stands in a folder, by name; nothing where there is none. Raises Unreadable."""
        try:
            stat = os.stat(folder)
            known = self._known.get(folder)
            if known is not None and known[0] == stat.st_mtime_ns:
                return known[1]
            with os.scandir(folder) as entries:
                found = tuple(sorted(map(_entry, entries), key=lambda entry: entry.name))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise Unreadable(f"{folder} cannot be read: {error.strerror}") from None
        if time.time_ns() - stat.st_mtime_ns > (_SETTLED if stat.st_mtime_ns % _SECOND else 2 * _SECOND):
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[folder] = (stat.st_mtime_ns, found)
        return found


def _entry(found: "os.DirEntry[str]") -> Entry:
    return Entry(found.name, found.is_file(follow_symlinks=False), found.is_dir(follow_symlinks=False))
