"""Deleting a session for good: first said durably, then done, and finished after any crash."""

from collections.abc import Sequence
from pathlib import Path

from letopis.errors import OutsideWorkspace, Unreadable
from letopis.model import jsonl, summary
from letopis.model.transcript import Transcript
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

    def places_of(self, session_id: str) -> list[str]:
        """Every file that bears a session: in closing, in the archive, and its notes."""
        places = []
        for folder in (self._workspace.closing, self._workspace.archive):
            for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
                near = session_id[:8] in path.name or path.stem == session_id
                if near and self._bears(path, session_id):
                    places.append(self._workspace.relative(path))
        line = self._index.lines().get(session_id)
        named = [line.transcript_path] if line is not None else []
        return list(dict.fromkeys([*places, *named, *self.notes_of(session_id)]))

    def notes_of(self, session_id: str) -> list[str]:
        """The notes that bear the id of a session, its digest too."""
        notes = [p for p in sorted(self._workspace.memory.glob("*.md")) if summary.is_session_note(p.name)]
        notes += sorted((self._workspace.memory / "conversations").glob("*.md"))
        return [self._workspace.relative(path) for path in notes if self._bears(path, session_id)]

    def delete(self, session_id: str) -> list[str]:
        """Delete a session that is not live; returns the files that went."""
        paths = self.places_of(session_id)
        record = {"_type": "deleted", "session_id": session_id, "paths": paths}
        with self._locks.hold("deletions"):
            files.append(self._workspace.deletions, jsonl.encode(record))
        self._carry_out(session_id, paths)
        return paths

    def finish(self, only: str | None = None) -> None:
        """Carry out what was said and perhaps not done."""
        for session_id, paths in self._said():
            if only in (None, session_id):
                closing = f"sessions/closing/{session_id}.jsonl"
                self._carry_out(session_id, [*paths, closing])

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
        try:
            data = files.read(path) or b""
        except Unreadable:
            return False
        if path.suffix == ".md":
            return summary.header_fields(data.decode("utf-8", "replace")).get("Session ID") == session_id
        return Transcript().feed(data).session_id == session_id

    def _said(self) -> list[tuple[str, list[str]]]:
        out = []
        for line in jsonl.lines(files.read(self._workspace.deletions) or b""):
            if isinstance(line, jsonl.GoodLine) and isinstance(line.record.get("session_id"), str):
                paths = line.record.get("paths")
                texts = [p for p in paths if isinstance(p, str)] if isinstance(paths, list) else []
                out.append((line.record["session_id"], texts))
        return out
