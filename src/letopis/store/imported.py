"""Conversations that come from elsewhere, put in as archived sessions by the usual protocol."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from letopis.model import jsonl, names
from letopis.model.messages import to_stored
from letopis.model.session import SessionLine
from letopis.model.transcript import Header, Transcript
from letopis.store import files
from letopis.store.closing import Closing
from letopis.store.locks import Locks
from letopis.store.session_index import SessionIndex
from letopis.store.transcripts import new_session_id
from letopis.store.workspace import Workspace

_WAIT = 600.0


class Imported:
    """The imported sessions of one workspace."""

    def __init__(self, workspace: Workspace, locks: Locks, closing: Closing, index: SessionIndex) -> None:
        self._workspace, self._locks, self._closing, self._index = workspace, locks, closing, index

    def sessions(self, source: Mapping[str, str]) -> list[SessionLine]:
        """The sessions that came from a source, as their metadata names it, oldest first.

        One whose import was broken off is finished first.
        """
        for path in sorted(self._workspace.closing.glob("*.jsonl")):
            header = Transcript().feed(files.read(path) or b"").header
            if header is not None and isinstance(header.metadata.get("import"), Mapping):
                with self._closing.locked(header.session_id, _WAIT):
                    self._closing.finish(header.session_id)
        lines = [line for line in self._index.lines().values() if _is_of(line, source)]
        return sorted(lines, key=lambda line: line.created_at)

    def locked(self) -> AbstractContextManager[None]:
        """Held for the length of one import, so that two never bring in the same."""
        return self._locks.hold("import", _WAIT)

    def messages(self, lines: Sequence[SessionLine]) -> Iterator[Mapping[str, Any]]:
        """The messages of these sessions as they were received."""
        for line in lines:
            data = files.read(self._workspace.inside(line.transcript_path)) or b""
            yield from (message.wire for message in Transcript().feed(data).messages)

    def add(
        self,
        key: str,
        messages: Sequence[tuple[Mapping[str, Any], datetime]],
        metadata: Mapping[str, Any],
        slug: str,
    ) -> SessionLine:
        """Archive a conversation with its original times, which must not decrease."""
        first, last = messages[0][1], messages[-1][1]
        header = Header(new_session_id(), key, "default", names.stamp(first), metadata)
        records = [header.record()]
        records += [to_stored(wire, n, names.stamp(at)) for n, (wire, at) in enumerate(messages, 1)]
        session_id = header.session_id
        records.append({"_type": "closed", "session_id": session_id, "ended_at": names.stamp(last)})
        data = b"".join(jsonl.encode(record) for record in records)
        transcript = Transcript().feed(data)
        data += jsonl.encode(self._closing.propose(transcript, slug, "skipped").record(session_id))
        with self._closing.locked(session_id):
            files.create(self._workspace.closing / f"{session_id}.jsonl", data)
            return self._closing.finish(session_id)


def _is_of(line: SessionLine, source: Mapping[str, str]) -> bool:
    told = line.metadata.get("import")
    return isinstance(told, Mapping) and all(told.get(name) == value for name, value in source.items())
