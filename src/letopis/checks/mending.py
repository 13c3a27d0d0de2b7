"""The repairs of the doctor. Each keeps the bytes that it replaces in the quarantine first."""

import os
from collections.abc import Callable
from pathlib import Path

from letopis.errors import StoreError
from letopis.model import jsonl, names
from letopis.model.text import is_cyrillic
from letopis.model.transcript import Header, Transcript
from letopis.store import Store, files
from letopis.store.transcripts import new_session_id

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
        closing = path.parent == store.workspace.closing
        session_id = path.stem if closing else new_session_id()
        now = names.stamp(store.clock.now())
        header = Header(session_id, f"recovered:{path.stem}", "default", now, {"recovered": True})
        files.append(path, jsonl.encode(header.record()))
        if not closing:
            files.append(path, jsonl.encode({"_type": "closed", "session_id": session_id, "ended_at": now}))
            files.move(path, store.workspace.closing / f"{session_id}.jsonl")

    return mend


def rebuilt_index(store: Store) -> Mend:
    """Make the session index anew from the archives and the notes."""

    def mend() -> None:
        data = files.read(store.workspace.session_index)
        if data is not None:
            quarantined(store, store.workspace.session_index, data)
        store.index.rebuild(store.deletions.ids())

    return mend


def decoded(store: Store, path: Path) -> Mend:
    """Decode a file that is not UTF-8, line by line."""

    def mend() -> None:
        data = files.read(path)
        if data is None:
            return
        quarantined(store, path, data)
        text = b"\n".join(_line(line).encode() for line in data.split(b"\n"))
        files.replace(path, text)
        store.facts.bring_up_to_date()

    return mend


def _line(raw: bytes) -> str:
    """The line as UTF-8, else as the old Cyrillic encoding if that gives words, else what is readable."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        old = raw.decode("cp1251", "replace")
        return old if is_cyrillic(old) else raw.decode("utf-8", "replace")


def set_aside(store: Store, path: Path) -> Mend:
    """Move a file into the quarantine."""

    def mend() -> None:
        data = files.read(path)
        if data is not None:
            quarantined(store, path, data)
            files.remove(path)

    return mend
