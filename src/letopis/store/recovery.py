"""What is done when a workspace is opened: every protocol is brought to where it can go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from letopis.errors import LetopisError
from letopis.model import jsonl, names
from letopis.model.transcript import Header, Transcript
from letopis.store import files
from letopis.store.transcripts import new_session_id

if TYPE_CHECKING:
    from letopis.store.store import Store


_CLOSED = b'"closed"'  # every `closed` line holds these bytes; a file without them need not be parsed


def recover(store: Store) -> None:
    """Finish renames, deletions, index lines and facts; closing sessions wait for the worker."""
    store.deletions.finish()
    _finish_renames(store)
    _give_headers(store)
    deleted = store.deletions.ids()
    for path in store.index.unindexed():
        line = store.index.from_archive(path)
        if line is not None and line.session_id not in deleted and not store.index.has(line.session_id):
            store.index.put(line)
    if store.workspace.fact_journal.exists():
        _finish_facts(store)
    _collect_temporaries(store)


def _finish_renames(store: Store) -> None:
    """A live file with a `closed` line was ended and not renamed any more."""
    for path in store.sessions.open_files():
        if path.parent != store.workspace.live:
            continue
        data = files.read(path) or b""
        if _CLOSED not in data and Transcript().feed(data[: data.find(b"\n") + 1]).header is not None:
            continue
        transcript = Transcript().feed(data)
        if transcript.header is None and transcript.messages:
            set_aside_headless(store, path)
        elif transcript.ended_at is not None and transcript.header is not None:
            store.transcripts.begin_close(transcript.header.key, transcript.session_id)


def set_aside_headless(store: Store, path: Path) -> None:
    """A live file whose first line is damaged: its key is lost, so it is ended under one of its own."""
    with store.transcripts.locked_stem(path.stem):
        data = files.read(path)
        if data is None or Transcript().feed(data).header is not None:
            return
        now = names.stamp(store.clock.now())
        session_id = new_session_id()
        header = Header.recovered(session_id, f"recovered:{path.stem}", now)
        closed = {"_type": "closed", "session_id": session_id, "ended_at": now}
        files.append(path, jsonl.encode(header.record()) + jsonl.encode(closed))
        files.move(path, store.workspace.closing / f"{session_id}.jsonl")


def _give_headers(store: Store) -> None:
    """A closing file whose first line is damaged still has its id in its name."""
    for session_id in store.sessions.closing():
        give_header(store, store.workspace.closing / f"{session_id}.jsonl")


def give_header(store: Store, path: Path) -> None:
    """Give a closing file a header again, at its end."""
    data = files.read(path)
    if data is None or Transcript().feed(data).header is not None:
        return
    now = names.stamp(store.clock.now())
    header = Header.recovered(path.stem, f"recovered:{path.stem}", now)
    files.append(path, jsonl.encode(header.record()))


def _finish_facts(store: Store) -> None:
    try:
        store.facts.bring_up_to_date()
    except LetopisError:
        return  # an unreadable MEMORY.md is shown by every view of it; opening must still work


def _collect_temporaries(store: Store) -> None:
    place = store.workspace
    notes = (place.memory, place.memory / "conversations")
    for folder in (*notes, place.live, place.closing, place.archive, place.internal):
        for path in files.stale_temporaries(folder):
            files.remove(path)
