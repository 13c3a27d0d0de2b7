"""Deleting a session for good: first said durably, then done, and finished after any crash."""

from collections.abc import Sequence
from pathlib import Path

from letopis.errors import OutsideWorkspace
from letopis.model import jsonl, summary
from letopis.store import files
from letopis.store.locks import Locks
from letopis.store.session_index import SessionIndex
from letopis.store.workspace import Workspace


class Deletions:
    """The sessions of a workspace that were deleted; no rebuild brings one back."""

    def __init__(self, workspace: Workspace, locks: Locks, index: SessionIndex) -> None:
        self._workspace, self._locks, self._index = workspace, locks, index

    def ids(self) -> set[str]:
        """The ids of deleted sessions."""
        return {session_id for session_id, _ in self._said()}

    def notes_of(self, session_id: str) -> list[str]:
        """The notes that bear the id of a session."""
        found = []
        for path in sorted(self._workspace.memory.glob("*.md")):
            data = files.read(path) or b""
            if session_id.encode() not in data:
                continue
            if summary.header_fields(data.decode("utf-8", "replace")).get("Session ID") == session_id:
                found.append(self._workspace.relative(path))
        return found

    def delete(self, session_id: str, paths: Sequence[str]) -> None:
        """Delete the session whose files these are."""
        record = {"_type": "deleted", "session_id": session_id, "paths": list(paths)}
        with self._locks.hold("deletions"):
            files.append(self._workspace.deletions, jsonl.encode(record))
        self._carry_out(session_id, paths)

    def finish(self) -> None:
        """Carry out what was said and perhaps not done."""
        for session_id, paths in self._said():
            self._carry_out(session_id, paths)

    def _carry_out(self, session_id: str, paths: Sequence[str]) -> None:
        for relative in paths:
            try:
                path = self._workspace.inside(relative)
            except OutsideWorkspace:
                continue
            if path.exists() and self._bears(path, session_id):
                files.remove(path)
        if self._index.has(session_id):
            self._index.drop(session_id)

    @staticmethod
    def _bears(path: Path, session_id: str) -> bool:
        """Whether a file is still that session's; its name may have been taken since."""
        data = files.read(path) or b""
        if path.suffix == ".md":
            return summary.header_fields(data.decode("utf-8", "replace")).get("Session ID") == session_id
        first = next(iter(jsonl.lines(data[: data.find(b"\n") + 1 or None])), None)
        return isinstance(first, jsonl.GoodLine) and first.record.get("session_id") == session_id

    def _said(self) -> list[tuple[str, list[str]]]:
        out = []
        for line in jsonl.lines(files.read(self._workspace.deletions) or b""):
            if isinstance(line, jsonl.GoodLine) and isinstance(line.record.get("session_id"), str):
                paths = line.record.get("paths")
                texts = [p for p in paths if isinstance(p, str)] if isinstance(paths, list) else []
                out.append((line.record["session_id"], texts))
        return out
