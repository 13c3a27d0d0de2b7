"""The reading side: every session there is, wherever its file stands just now.

Scans read live, closing and archive in this order and count a session once, so a session that
moves on meanwhile is never missed.
"""

from collections.abc import Iterator
from pathlib import Path

from letopis.errors import SessionNotFound
from letopis.model.session import SessionLine
from letopis.model.transcript import Transcript
from letopis.store import files
from letopis.store.deletions import Deletions
from letopis.store.session_index import INDEX_PATH, SessionIndex
from letopis.store.transcripts import Transcripts
from letopis.store.workspace import Workspace


class Sessions:
    """The sessions of one workspace, for reading."""

    def __init__(
        self, workspace: Workspace, index: SessionIndex, transcripts: Transcripts, deletions: Deletions
    ) -> None:
        self._workspace, self._index = workspace, index
        self._transcripts, self._deletions = transcripts, deletions

    def all(self) -> list[SessionLine]:
        """Every session, newest first."""
        found: dict[str, SessionLine] = {}
        deleted = self._deletions.ids()
        for path in self.open_files():
            transcript = self._read(path)
            if transcript is not None and transcript.header is not None:
                line = self._line(path, transcript)
                found.setdefault(line.session_id, line)
        for line in self._index.lines().values():
            if line.session_id not in found or found[line.session_id].state == "closing":
                found[line.session_id] = line
        kept = [line for line in found.values() if line.session_id not in deleted]
        return sorted(kept, key=lambda line: (line.updated_at, line.session_id), reverse=True)

    def get(self, session_id: str) -> SessionLine:
        """One session by its id. Raises SessionNotFound."""
        for line in self.all():
            if line.session_id == session_id:
                return line
        raise SessionNotFound(f"no session {session_id!r}; `letopis sessions list` shows the ids there are")

    def live(self, key: str) -> Transcript | None:
        """The live session of a key, or None."""
        transcript = self._read(self._transcripts.live_path(key))
        if transcript is None or transcript.header is None or transcript.ended_at is not None:
            return None
        return transcript

    def live_count(self, key: str) -> tuple[str, int] | None:
        """Id and number of messages of a key's live session, without reading it again."""
        transcript = self.live(key)
        return (transcript.session_id, transcript.last_n) if transcript else None

    def transcript(self, session_id: str) -> Transcript:
        """The whole transcript of a session. Raises SessionNotFound."""
        for _ in range(3):
            line = self.get(session_id)
            transcript = self._read(self._workspace.inside(line.transcript_path))
            if transcript is not None:
                return transcript
        raise SessionNotFound(
            f"the transcript of session {session_id} is not where its line says: {line.transcript_path}"
        )

    def closing(self) -> list[str]:
        """The ids of the sessions that wait to be archived, oldest first."""
        paths = sorted(self._workspace.closing.glob("*.jsonl"), key=lambda p: (p.stat().st_mtime_ns, p.name))
        return [path.stem for path in paths]

    def open_files(self) -> Iterator[Path]:
        """The files of live sessions, then of closing ones."""
        for folder in (self._workspace.live, self._workspace.closing):
            if folder.is_dir():
                for path in sorted(folder.glob("*.jsonl")):
                    if path.name[0] not in "._":
                        yield path

    def _read(self, path: Path) -> Transcript | None:
        data = files.read(self._workspace.contained(path))
        return Transcript().feed(data) if data is not None else None

    def _line(self, path: Path, transcript: Transcript) -> SessionLine:
        header, plan = transcript.header, transcript.plan
        assert header is not None
        return SessionLine(
            session_id=header.session_id,
            key=header.key,
            slug=plan.slug if plan else "",
            created_at=header.created_at,
            updated_at=transcript.updated_at,
            ended_at=transcript.ended_at or "",
            message_count=len(transcript.messages),
            transcript_path=self._workspace.relative(path),
            memory_path=None,
            session_index_path=INDEX_PATH,
            summary_status="pending",
            persona=header.persona,
            metadata=header.metadata,
        )
