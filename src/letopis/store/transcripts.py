"""The writing side of live and closing transcripts: one durable line at a time.

An append knows where the file ends from the last one, so it costs the same whatever the length;
it reads the file only where another process has written meanwhile. Everything that names a
session goes, under the lock of its key, to the file that bears it, live or closing.
"""

import os
import weakref
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from letopis.errors import InvalidInput, SessionArchived, WriteFailed
from letopis.model import jsonl, names
from letopis.model.messages import check, check_depth, to_stored
from letopis.model.transcript import POINTERS, Header, state_record
from letopis.settings import Clock
from letopis.store import files
from letopis.store.locks import Locks
from letopis.store.syncing import Syncer
from letopis.store.tail import Tail, header_in, opened
from letopis.store.workspace import Workspace

_OPEN_FILES = 64
_NO_METADATA: Mapping[str, Any] = {}
_MAY_STAY_OPEN = os.name != "nt"  # where an open file cannot be renamed it is closed after each line


@dataclass(frozen=True, slots=True)
class Appended:
    """Where a message stands. `new` is False where its id already stood in the session."""

    session_id: str
    n: int
    new: bool


class Transcripts:
    """Appends to the transcripts of one workspace."""

    def __init__(self, workspace: Workspace, locks: Locks, clock: Clock, durability: str) -> None:
        self._workspace, self._locks, self._clock = workspace, locks, clock
        self._syncer = Syncer() if durability == "batch" else None
        self._tails: dict[Path, Tail] = {}
        self._paths: dict[str, Path] = {}
        weakref.finalize(self, _close_all, self._tails)

    def locked(self, key: str) -> AbstractContextManager[None]:
        """The lock of a key: appends, and the rename at a close, happen under it."""
        return self.locked_stem(names.live_stem(key))

    def locked_stem(self, stem: str) -> AbstractContextManager[None]:
        """The same, by the name that the key's file has."""
        return self._locks.hold(f"key-{stem}")

    def append(
        self,
        key: str,
        wire: Mapping[str, Any],
        *,
        session_id: str | None = None,
        persona: str = "default",
        metadata: Mapping[str, Any] | None = None,
    ) -> Appended:
        """Add a message to the live session of a key, or to a named one that is not archived.

        The message is on disk when this returns. Without a live session one begins, with the
        persona and metadata given.
        """
        names.check_key(key)
        check(wire)
        metadata = _checked(metadata)
        with self.locked(key):
            path, tail = self._target(key, session_id)
            if tail is None:
                return self._begin(path, new_session_id(), key, wire, persona, metadata)
            self._note_metadata(path, tail, metadata)
            return self._append_to(path, tail, wire)

    def append_turn(
        self, key: str, session_id: str, fresh: bool, wire: Mapping[str, Any], persona: str, metadata: Mapping[str, Any]
    ) -> Appended | None:
        """The same for whoever holds the session's lock: only if that session is the live one.

        A `fresh` id is that of the session to begin. None where the live session is another by
        now, or there is none.
        """
        names.check_key(key)
        check(wire)
        metadata = _checked(metadata)
        with self.locked(key):
            path, tail = self._target(key, None)
            if tail is None:
                return self._begin(path, session_id, key, wire, persona, metadata) if fresh else None
            if tail.transcript.session_id != session_id:
                return None
            self._note_metadata(path, tail, metadata)
            return self._append_to(path, tail, wire)

    def live_id(self, key: str) -> str | None:
        """The id of the live session of a key, without reading it again."""
        with self.locked(names.check_key(key)):
            tail = self._target(key, None)[1]
            return tail.transcript.session_id if tail is not None else None

    def _note_metadata(self, path: Path, tail: Tail, metadata: Mapping[str, Any]) -> None:
        """Metadata that a later message brings is a state line, so that it is never lost."""
        if not metadata:
            return
        known = tail.transcript.metadata
        if any(name not in known or known[name] != value for name, value in metadata.items()):
            fields = {"metadata": {**known, **metadata}}
            now = names.stamp(self._clock.now())
            self._write_records(path, tail, [state_record(tail.transcript.session_id, now, fields)])

    def _append_to(self, path: Path, tail: Tail, wire: Mapping[str, Any]) -> Appended:
        id_ = wire.get("id")
        named = isinstance(id_, str | int)
        known = tail.ids.get((type(id_), id_)) if named else None
        if known is not None:
            return Appended(tail.transcript.session_id, known, new=False)
        now = self._clock.now()
        moment = now if tail.moment is None or now > tail.moment else tail.moment
        n = tail.n + 1
        self._write(path, tail, jsonl.encode(to_stored(wire, n, names.stamp(moment))))
        tail.n, tail.moment = n, moment
        if named:
            tail.ids[(type(id_), id_)] = n
        return Appended(tail.transcript.session_id, n, new=True)

    def append_state(self, key: str, session_id: str, fields: Mapping[str, Any]) -> None:
        """Add a state line, which carries only what changed; pointers only grow."""
        with self.locked(key):
            path, tail = self._open_target(key, session_id)
            for name in POINTERS:
                now = tail.transcript.pointer(name, tail.n)
                wanted = fields.get(name, now)
                if not now <= wanted <= tail.n:
                    raise InvalidInput(
                        f"{name} of session {session_id} cannot be {wanted}: it stands at {now} and there are "
                        f"{tail.n} messages"
                    )
            record = state_record(session_id, names.stamp(self._clock.now()), fields)
            self._write_records(path, tail, [record])

    def append_records(self, key: str, session_id: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Add lines of ours (states, plans, anchors, goals) to a session that is not archived."""
        with self.locked(key):
            self._write_records(*self._open_target(key, session_id), records)

    def _open_target(self, key: str, session_id: str) -> tuple[Path, Tail]:
        path, tail = self._target(key, session_id)
        if tail is None:
            raise SessionArchived(f"session {session_id} is not open; nothing was written to it")
        return path, tail

    def _write_records(self, path: Path, tail: Tail, records: Iterable[Mapping[str, Any]]) -> None:
        data = b"".join(jsonl.encode(record) for record in records)
        self._write(path, tail, data)
        tail.transcript.feed(data)

    def begin_close(self, key: str, session_id: str | None = None) -> str | None:
        """End the live session of a key: a durable `closed` line, then the rename to `closing/`.

        Returns the id of the session, or None where nothing was said; with `session_id` only
        that session is ended.
        """
        names.check_key(key)
        with self.locked(key):
            path, tail = self._live(key)
            if tail is None or tail.n == 0:
                return None
            if session_id is not None and tail.transcript.session_id != session_id:
                return None
            return self._close(path, tail, key)

    def live_path(self, key: str) -> Path:
        """The file of a key's live session, for readers; it need not exist."""
        count = 1
        while True:
            path = self._name(key, count)
            header = header_in(path)
            if header is None or header.key == key:
                return path
            count += 1

    def flush(self) -> None:
        """Wait until every line is on disk (durability "batch")."""
        if self._syncer is not None:
            self._syncer.flush()

    def _live(self, key: str) -> tuple[Path, Tail | None]:
        """The file of a key's live session and its tail; the first name not another key's."""
        path = self._paths.get(key) or self._name(key, 1)
        count = 1
        while True:
            tail = self._tail(path)
            if tail is None or tail.transcript.header is None or tail.transcript.header.key == key:
                self._paths[key] = path
                return path, tail
            count += 1
            path = self._name(key, count)

    def _name(self, key: str, count: int) -> Path:
        return self._workspace.live / f"{names.live_stem(key)}{'' if count == 1 else f'-{count}'}.jsonl"

    def _target(self, key: str, session_id: str | None) -> tuple[Path, Tail | None]:
        """The file that bears the session, and its tail; no tail where a session must begin."""
        path, tail = self._live(key)
        if tail is not None and tail.transcript.ended_at is not None:
            self._close(path, tail, key)
            tail = None
        if session_id is None:
            return path, self._with_header(path, tail, key) if tail is not None else None
        if tail is not None and tail.transcript.session_id == session_id:
            return path, tail
        closing = self._workspace.closing / f"{names.check_session_id(session_id)}.jsonl"
        tail = self._tail(closing)
        if tail is None:
            raise SessionArchived(
                f"session {session_id} of {key!r} is neither live nor closing, so it does not change any more; "
                "append without a session id to go on in the live session"
            )
        return closing, tail

    def _begin(
        self, path: Path, session_id: str, key: str, wire: Mapping[str, Any], persona: str, metadata: Mapping[str, Any]
    ) -> Appended:
        now = names.stamp(self._clock.now())
        header = Header(session_id, key, persona, now, metadata)
        data = jsonl.encode(header.record()) + jsonl.encode(to_stored(wire, 1, now))
        if not files.create(path, data):
            raise WriteFailed(f"{path} appeared meanwhile, written by a program that does not take the lock")
        self._tail(path)
        return Appended(header.session_id, 1, new=True)

    def _with_header(self, path: Path, tail: Tail, key: str) -> Tail:
        """A file whose first line is damaged gets a header again, at its end: nothing is rewritten."""
        if tail.transcript.header is None:
            header = Header.recovered(new_session_id(), key, names.stamp(self._clock.now()))
            data = jsonl.encode(header.record())
            self._write(path, tail, data)
            tail.transcript.feed(data)
        return tail

    def _close(self, path: Path, tail: Tail, key: str) -> str:
        session_id = self._with_header(path, tail, key).transcript.session_id
        if tail.transcript.ended_at is None:
            ended = names.stamp(self._clock.now())
            line = jsonl.encode({"_type": "closed", "session_id": session_id, "ended_at": ended})
            files.append(path, line)
        target = self._workspace.closing / f"{names.check_session_id(session_id)}.jsonl"
        if target.exists():
            raise WriteFailed(f"{target} exists already; `letopis doctor` says what to do with two of one session")
        self._forget(path)
        files.move(path, target)
        return session_id

    def _write(self, path: Path, tail: Tail, data: bytes) -> None:
        tail.write(data, sync=self._syncer is None)
        if self._syncer is not None:
            self._syncer.wrote(path)
        if not _MAY_STAY_OPEN:
            tail.close()

    def _tail(self, path: Path) -> Tail | None:
        """The tail of a file as it is now; None where there is no file. The caller holds the lock."""
        tail = self._tails.get(path)
        try:
            stat = os.stat(tail.name if tail is not None else path)
        except FileNotFoundError:
            self._forget(path)
            return None
        if tail is not None and tail.matches(stat):
            return tail
        self._workspace.contained(path)
        self._forget(path)
        if len(self._tails) >= _OPEN_FILES:
            self._forget(next(iter(self._tails)))
        tail = self._tails[path] = opened(path, tail)
        return tail

    def _forget(self, path: Path) -> None:
        tail = self._tails.pop(path, None)
        if tail is not None:
            tail.close()


def _close_all(tails: dict[Path, Tail]) -> None:
    for tail in tails.values():
        tail.close()


def _checked(metadata: object) -> Mapping[str, Any]:
    if metadata is None or metadata == {}:
        return _NO_METADATA
    if not isinstance(metadata, Mapping):
        raise InvalidInput(f"metadata must be an object, not {type(metadata).__name__}")
    check_depth(metadata, "metadata")
    return metadata


def new_session_id() -> str:
    """Sixteen hex digits."""
    return os.urandom(8).hex()
