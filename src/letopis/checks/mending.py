"""The repairs of the doctor. Each keeps the bytes that it replaces in the quarantine first."""

import os
from collections.abc import Callable
from pathlib import Path

from letopis.errors import StoreError
from letopis.model import jsonl
from letopis.model.text import decoded
from letopis.model.transcript import Transcript
from letopis.store import Store, files, recovery

_MARKS = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16
Mend = Callable[[], None]


def quarantined(store: Store, path: Path, data: bytes) -> Path:
    """A byte-identical copy of a file in the quarantine."""
    stamp = store.clock.now().strftime("%Y%m%d-%H%M%S")
    copy = store.workspace.quarantine / f"{stamp}-{os.urandom(3).hex()}-{path.name.lstrip('.')}"
    files.create(copy, data)
    if files.read(copy) != data:
        raise StoreError(f"{copy} does not hold what {path} holds; nothing was changed")
    return copy


def without_bad_lines(store: Store, path: Path) -> Mend:
    """Rewrite a file of ours without its damaged lines."""

    def mend() -> None:
        key = _key_of(path)
        if key is not None:
            with store.transcripts.locked(key):
                _drop_bad_lines(store, path)
        else:
            _drop_bad_lines(store, path)

    return mend


def _key_of(path: Path) -> str | None:
    header = Transcript().feed(files.read(path) or b"").header
    return header.key if header else None


def _drop_bad_lines(store: Store, path: Path) -> None:
    data = files.read(path)
    if data is None:
        return
    quarantined(store, path, data)
    transcript = path.parent in (store.workspace.live, store.workspace.closing)
    bad = {line.number for line in (Transcript().feed(data).bad if transcript else _bad(data))}
    kept = [
        _salvaged(raw) if number in bad else raw + b"\n"
        for number, raw in enumerate(data.split(b"\n"), 1)
        if raw.strip()
    ]
    files.replace(path, b"".join(kept))


def _salvaged(raw: bytes) -> bytes:
    """The whole objects before the damage; nothing of a line that is whole but is none of ours."""
    parts = list(jsonl.lines(raw))
    good = [part for part in parts if isinstance(part, jsonl.GoodLine)]
    return b"".join(jsonl.encode(part.record) for part in good) if len(good) < len(parts) else b""


def _bad(data: bytes) -> list[jsonl.BadLine]:
    return [line for line in jsonl.lines(data) if isinstance(line, jsonl.BadLine)]


def with_header(store: Store, path: Path) -> Mend:
    """Give a transcript a header again, at its end; a live one is closed, for its key is lost."""

    def mend() -> None:
        (recovery.give_header if path.parent == store.workspace.closing else recovery.set_aside_headless)(store, path)

    return mend


def rebuilt_index(store: Store) -> Mend:
    """Make the session index anew from the archives and the notes."""

    def mend() -> None:
        data = files.read(store.workspace.session_index)
        if data is not None:
            quarantined(store, store.workspace.session_index, data)
        store.index.rebuild(store.deletions.ids())

    return mend


def readable_again(store: Store) -> Mend:
    """Decode MEMORY.md anew; where it cannot be, the version last written and the journal stand in."""

    def mend() -> None:
        path = store.workspace.memory_file
        data = files.read(path)
        if data is None:
            return
        quarantined(store, path, data)
        text = decoded(data) if data[:2] in _MARKS else _by_line(data)
        if text is None:
            files.remove(path)
        else:
            files.replace(path, text.encode("utf-8", "replace"))
        store.facts.bring_up_to_date()

    return mend


def _by_line(data: bytes) -> str | None:
    """The text of a file of which some lines are damaged; None where most of them are."""
    lines = [decoded(line) for line in data.split(b"\n")]
    good = [line for line in lines if line is not None]
    if b"\0" in data or len(good) * 2 < len(lines):
        return None
    shown = (
        line if line is not None else raw.decode("utf-8", "replace")
        for line, raw in zip(lines, data.split(b"\n"), strict=True)
    )
    return "\n".join(shown)


def set_aside(store: Store, path: Path) -> Mend:
    """Move a file into the quarantine."""

    def mend() -> None:
        data = files.read(path)
        if data is not None:
            quarantined(store, path, data)
            files.remove(path)

    return mend
