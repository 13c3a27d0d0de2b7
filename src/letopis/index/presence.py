"""Who has the index open: openers hold a shared lock, compaction takes it alone.

The lock dies with its holder. Where the system has no shared file locks, SQLite's own locks are
all there is, and compaction asks that everything else be stopped.
"""

import os
import sys
from pathlib import Path

from letopis.errors import IndexBusy, SearchError

if sys.platform != "win32":
    import fcntl


class Presence:
    """A lock on the index of one workspace, shared or exclusive, until it is let go."""

    def __init__(self, path: Path, alone: bool = False) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise SearchError(f"the index cannot be used: {path} cannot be made ({error.strerror})") from None
        if sys.platform == "win32":
            return
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            self.leave()
            doing = "another program has it open; stop it" if alone else "it is being compacted; wait for that"
            raise IndexBusy(f"the index cannot be used now: {doing} and try again") from None

    def leave(self) -> None:
        """Let go."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
