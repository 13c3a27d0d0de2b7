"""Groups the fsyncs of appended lines (durability "batch"), at most 200 ms apart.

The lines are already in the file when an append returns, so a killed process loses nothing; a
power cut loses at most the last 200 ms.
"""

import contextlib
import os
import threading
import weakref
from pathlib import Path

INTERVAL = 0.2


class Syncer:
    """Syncs the files that were written to, soon after the first write."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._dirty: set[Path] = set()
        self._timer: threading.Timer | None = None
        weakref.finalize(self, _sync_all, self._dirty)

    def wrote(self, path: Path) -> None:
        """A file has lines that are not synced yet."""
        with self._guard:
            self._dirty.add(path)
            if self._timer is None:
                self._timer = threading.Timer(INTERVAL, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Sync everything written so far."""
        with self._guard:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            _sync_all(self._dirty)


def _sync_all(dirty: set[Path]) -> None:
    while dirty:
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(dirty.pop(), os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
