"""One holder at a time, across threads and processes; a lock dies with its holder.

The operating system's own file locks are taken directly (docs/adr/0002): a lock stands on the
path of every message, and the libraries for it cost more than the write that they guard.
"""

import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from letopis.errors import Busy
from letopis.store import files

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


_LOOK_AGAIN = 1.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02


@dataclass(slots=True)
class _Known:
    """A lock of this process. Its file stays open, for the process that opened it."""

    path: str
    turn: threading.Lock = field(default_factory=threading.Lock)
    fd: int = -1
    pid: int = 0
    identity: tuple[int, int] = (0, 0)
    seen_at: float = 0.0


class Locks:
    """The locks of one workspace, by name. A thread must not take a lock that it holds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, _Known] = {}

    def hold(self, name: str, timeout: float = 30.0, passing: bool = False) -> "Hold":
        """Hold the lock `name` in a `with` block. Raises Busy after `timeout` seconds.

        `passing` locks belong to one session and are removed when nobody needs them.
        """
        known = self._known.get(name) or self._known.setdefault(name, _Known(str(self._folder / f"{name}.lock")))
        return Hold(self, name, known, timeout, passing)

    def take(self, name: str, known: _Known, timeout: float) -> int:
        """Wait for the lock and return the descriptor that holds it."""
        deadline = time.monotonic() + timeout
        if not (known.turn.acquire(timeout=timeout) if timeout > 0 else known.turn.acquire(blocking=False)):
            raise Busy(f"{name} is in use by another part of this program; try again")
        try:
            return self._acquire(name, known, deadline)
        except BaseException:
            known.turn.release()
            raise

    def _acquire(self, name: str, known: _Known, deadline: float) -> int:
        pause = _FIRST_PAUSE
        while True:
            if known.fd < 0 or known.pid != os.getpid():
                known.fd, known.pid = self._open(known.path), os.getpid()
                stat = os.fstat(known.fd)
                known.identity, known.seen_at = (stat.st_dev, stat.st_ino), 0.0
            fd = known.fd
            if _try_lock(fd) and _is_current(known):
                return fd
            known.fd = -1  # closing lets go of it, and the next try opens what stands there then
            os.close(fd)
            if time.monotonic() >= deadline:
                raise Busy(f"{name} is in use by another process; try again when it is done")
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _open(self, path: str) -> int:
        with files.writing(path, "the lock"):
            try:
                return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                self._folder.mkdir(parents=True, exist_ok=True)
                return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


class Hold:
    """A lock to be held for the length of a `with` block."""

    __slots__ = ("_fd", "_known", "_locks", "_name", "_passing", "_timeout")

    def __init__(self, locks: Locks, name: str, known: _Known, timeout: float, passing: bool) -> None:
        self._locks, self._name, self._known = locks, name, known
        self._timeout, self._passing, self._fd = timeout, passing, -1

    def __enter__(self) -> None:
        self._fd = self._locks.take(self._name, self._known, self._timeout)

    def __exit__(self, *error: object) -> None:
        try:
            if self._passing:
                _forget(self._known.path)
                self._known.fd = -1
                os.close(self._fd)
            else:
                _unlock(self._fd)
        finally:
            self._known.turn.release()


def _is_current(known: _Known) -> bool:
    """Whether the file locked is still the one that others would open; looked at once a second."""
    now = time.monotonic()
    if now - known.seen_at < _LOOK_AGAIN:
        return True
    try:
        stat = os.stat(known.path)
    except FileNotFoundError:
        return False
    known.seen_at = now
    return known.identity == (stat.st_dev, stat.st_ino)


def _forget(path: str) -> None:
    """Remove the file of a lock that is held; whoever waits for it will open a new one."""
    try:
        os.unlink(path)
    except OSError:
        return
