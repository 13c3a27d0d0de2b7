"""What the next append must know of a transcript's end, learnt from the file and kept."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from letopis.errors import Unreadable
from letopis.model.transcript import Header, Transcript
from letopis.store import files

_HEAD_BYTES = 512
_READ_BYTES = 1 << 20


@dataclass(slots=True)
class Tail:
    """The end of a file as it was at the last look.

    While `fd` is open, no other file can come to have this one's identity.
    """

    name: str
    transcript: Transcript
    head: bytes
    fd: int = -1
    identity: tuple[int, int] = (0, 0)
    size: int = 0
    n: int = 0
    moment: datetime | None = None
    whole: bool = False
    ids: dict[tuple[type, Any], int] = field(default_factory=dict)

    def matches(self, stat: os.stat_result) -> bool:
        """Whether nobody has written to the file since."""
        return self.fd >= 0 and self.size == stat.st_size and self.identity == (stat.st_dev, stat.st_ino)

    def write(self, data: bytes, sync: bool) -> None:
        """Add lines; a torn last line is ended first."""
        if not self.whole:
            data = b"\n" + data
        if self.fd < 0:
            with files.writing(self.name, "a line of"):
                self.fd = files.open_to_append(Path(self.name))
        files.append_to(self.fd, self.name, data, self.size, sync)
        self.size += len(data)
        self.whole = True

    def close(self) -> None:
        """Let go of the file; what is known of it is kept."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def take(self, data: bytes) -> None:
        """Learn from lines and keep none of their text."""
        self.transcript.feed(data)
        self.whole = data.endswith(b"\n") if data else self.whole
        for message in self.transcript.messages:
            self._learn(message.n, message.timestamp, message.stored.get("id"))
        del self.transcript.messages[:-1]
        self.transcript.bad.clear()

    def _learn(self, n: int, timestamp: str, id_: object) -> None:
        self.n = max(self.n, n)
        if isinstance(id_, str | int):
            self.ids.setdefault((type(id_), id_), n)
        try:
            moment = datetime.fromisoformat(timestamp)
        except ValueError:
            return
        if moment.tzinfo and (self.moment is None or moment > self.moment):
            self.moment = moment


def opened(path: Path, before: Tail | None) -> Tail:
    """The tail of a file; what was known of it is carried on if it is the same file, grown."""
    with files.writing(path, "a line of"), open(path, "rb") as file:
        head = file.read(_HEAD_BYTES)
        size = file.seek(0, 2)
        if before is None or before.head != head[: len(before.head)] or size < before.size:
            before = Tail(str(path), Transcript(), head)
        file.seek(before.size)
        for data in _whole_lines(file):
            before.take(data)
            before.size += len(data)
        stat = os.fstat(file.fileno())
        before.identity = (stat.st_dev, stat.st_ino)
    return before


def header_in(path: Path) -> Header | None:
    """The header on the first line of a file, if there is one. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            return Transcript().feed(file.readline()).header
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from None


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, some whole lines at a time, so that a long one takes little memory."""
    rest = b""
    while data := file.read(_READ_BYTES):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = data[end:]
        else:
            rest += data
    if rest:
        yield rest
