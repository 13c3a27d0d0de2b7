"""Transcripts read once and then followed: of a file that has grown only the new lines are read."""

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from letopis.errors import Unreadable
from letopis.model.transcript import Transcript
from letopis.store import files

_KEPT = 8
_OVERLAP = 64


@dataclass(slots=True)
class _Reading:
    """A file as far as it was read: whole lines only; `end` are its last bytes so far."""

    identity: tuple[int, int]
    stamp: tuple[int, int] = (0, 0)
    size: int = 0
    lines: int = 0
    end: bytes = b""
    transcript: Transcript = field(default_factory=Transcript)


class Readings:
    """The transcripts of the files that were read last."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: dict[Path, _Reading] = {}

    def transcript(self, path: Path) -> Transcript | None:
        """What a file says now, a torn last line included; None where there is no file. Raises Unreadable."""
        with self._guard:
            try:
                with path.open("rb") as file:
                    return self._followed(path, file.fileno())
            except (FileNotFoundError, NotADirectoryError):
                self._known.pop(path, None)
                return None
            except OSError as error:
                raise Unreadable(f"{path} cannot be read: {error.strerror}") from None

    def _followed(self, path: Path, fd: int) -> Transcript:
        stat = os.fstat(fd)
        reading = self._known.pop(path, None)
        if reading is None or not self._continues(reading, fd, stat):
            reading = _Reading((stat.st_dev, stat.st_ino))
        data = files.read_from(fd, reading.size)
        whole = data.rfind(b"\n") + 1
        if whole:
            reading.transcript.feed(data[:whole], reading.lines + 1)
            reading.lines += data.count(b"\n", 0, whole)
            reading.size += whole
            reading.end = (reading.end + data[:whole])[-_OVERLAP:]
        reading.stamp = (stat.st_size, stat.st_mtime_ns)
        self._known[path] = reading
        while len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        told = reading.transcript.copy()
        return told.feed(data[whole:], reading.lines + 1) if data[whole:] else told

    @staticmethod
    def _continues(reading: _Reading, fd: int, stat: os.stat_result) -> bool:
        """Whether the file is the one that was read, as it was or grown at its end."""
        if reading.identity != (stat.st_dev, stat.st_ino) or stat.st_size < reading.size:
            return False
        if reading.stamp == (stat.st_size, stat.st_mtime_ns):
            return True
        return files.read_from(fd, reading.size - len(reading.end), len(reading.end)) == reading.end
