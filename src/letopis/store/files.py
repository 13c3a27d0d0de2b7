"""Writes that either happened or did not, whatever ends the process meanwhile.

An append is one line and one fsync; a rewrite is a temporary file, an fsync and a rename. A
write that fails part of the way is taken back, so the file stays as it was.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from letopis.errors import Unreadable, WriteFailed

TEMPORARY = ".tmp"
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL}
_NO_DIRECTORY_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM, errno.EISDIR}


def read(path: Path) -> bytes | None:
    """The bytes of a file, or None where there is none. Raises Unreadable."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}; check its permissions") from None


@contextlib.contextmanager
def writing(path: Path | str, what: str) -> Iterator[None]:
    """Turns the errors of the disk into WriteFailed, with what to do next."""
    try:
        yield
    except OSError as error:
        raise _failure(error, path, what) from error


def _failure(error: OSError, path: Path | str, what: str) -> WriteFailed:
    return WriteFailed(f"{what} {path} could not be written: {error.strerror}; {_advice(error)}")


def _advice(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space on the disk and try again; what was there before is unchanged"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "make the folder writable and try again; what was there before is unchanged"
    return "what was there before is unchanged"


def append(path: Path, data: bytes, sync: bool = True) -> None:
    """Add whole lines to the end of a file; a torn last line is ended first."""
    try:
        fd = open_to_append(path)
        try:
            size = os.fstat(fd).st_size
            if size and _last_byte(fd, size) != b"\n":
                data = b"\n" + data
            append_to(fd, str(path), data, size, sync)
        finally:
            os.close(fd)
    except OSError as error:
        raise _failure(error, path, "a line of") from error


def open_to_append(path: Path) -> int:
    """A descriptor for `append_to`; the file is made if there is none."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def append_to(fd: int, name: str, data: bytes, size: int, sync: bool) -> None:
    """Add bytes to an open file of this size. On any error the file is cut back to it."""
    try:
        written = os.write(fd, data)
        if written < len(data):
            write_all(fd, data[written:])
        if sync:
            os.fsync(fd)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, size)
        raise _failure(error, name, "a line of") from error


def _last_byte(fd: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(fd, 1, size - 1)
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)


def read_from(fd: int, offset: int, length: int | None = None) -> bytes:
    """The bytes of an open file from an offset on, to its end or so many."""
    os.lseek(fd, offset, os.SEEK_SET)
    parts = []
    while length is None or length > 0:
        part = os.read(fd, 1 << 20 if length is None else length)
        if not part:
            break
        parts.append(part)
        length = None if length is None else length - len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes) -> None:
    """Write it all, however little the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def create(path: Path, data: bytes) -> bool:
    """Make a new file with these bytes; False where the name is taken."""
    with prepared(path, data) as publish:
        return publish()


@contextlib.contextmanager
def prepared(path: Path, data: bytes) -> Iterator[Callable[[], bool]]:
    """A new file whose bytes are already on disk; the call yielded gives it its name.

    The call is quick and answers False where the name is taken. Without it nothing comes of
    the file.
    """
    with writing(path, "the file"):
        temporary = _temporary(path, data)

    def publish() -> bool:
        with writing(path, "the file"):
            done = _link(temporary, path)
            sync_folder(path.parent)
            return done

    try:
        yield publish
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def _link(temporary: Path, path: Path) -> bool:
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            return False
        os.replace(temporary, path)
    return True


def replace(path: Path, data: bytes, expected: bytes | None = None) -> bool:
    """Put these bytes in place of the file, at once or not at all.

    False, and nothing changed, where the file does not hold what was `expected` any more.
    """
    with writing(path, "the file"):
        temporary = _temporary(path, data)
        try:
            if expected is not None and path.read_bytes() != expected:
                os.unlink(temporary)
                return False
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, os.stat(path).st_mode & 0o777)
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(path.parent)
        return True


def _temporary(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.parent / f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}{TEMPORARY}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def move(source: Path, target: Path) -> None:
    """Rename within the workspace, durably."""
    with writing(target, "the file"):
        target.parent.mkdir(parents=True, exist_ok=True)
        os.rename(source, target)
        sync_folder(target.parent)
        if source.parent != target.parent:
            sync_folder(source.parent)


def remove(path: Path) -> bool:
    """Remove a file durably; False where there was none."""
    with writing(path, "the removal of"):
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        sync_folder(path.parent)
        return True


def keep_copy(path: Path, copy: Path) -> None:
    """Link the file as it stands under a second name; where links are not to be had, copy it."""
    with writing(copy, "the backup"):
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, copy)
        except FileExistsError:
            return
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            create(copy, path.read_bytes())


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can do that."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno in _NO_DIRECTORY_SYNC:
            return
        raise
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(fd)


def stale_temporaries(folder: Path) -> list[Path]:
    """Temporary files in a folder whose maker no longer runs."""
    found = []
    for path in folder.glob(f".*{TEMPORARY}") if folder.is_dir() else ():
        pid = path.name.removesuffix(TEMPORARY).rpartition(".")[2].partition("-")[0]
        if pid.isdigit() and not _runs(int(pid)):
            found.append(path)
    return found


def _runs(pid: int) -> bool:
    if pid == os.getpid():
        return True
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
