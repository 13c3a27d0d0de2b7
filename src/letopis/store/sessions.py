"""The reading side: every session there is, wherever its file stands just now.

Scans read live, closing and archive in this order and count a session once, so a session that
moves on meanwhile is never missed.
"""

from collections.abc import Iterator
from pathlib import Path

from letopis.errors import OutsideWorkspace, SessionNotFound, Unreadable
from letopis.model import names
from letopis.model.messages import Message
from letopis.model.session import SessionLine
from letopis.model.transcript import Transcript
from letopis.store.deletions import Deletions
from letopis.store.readings import Readings
from letopis.store.session_index import INDEX_PATH, SessionIndex
from letopis.store.transcripts import Transcripts
from letopis.store.workspace import Workspace

_SHORTEST_ID = 4
_OPENING = 1 << 16


class Sessions:
    """The sessions of one workspace, for reading."""

    def __init__(
        self, workspace: Workspace, index: SessionIndex, transcripts: Transcripts, deletions: Deletions
    ) -> None:
        self._workspace, self._index = workspace, index
        self._transcripts, self._deletions = transcripts, deletions
        self._lines: dict[Path, tuple[tuple[int, int, int], SessionLine | None]] = {}
        self._readings = Readings()

    def all(self) -> list[SessionLine]:
        """Every session, newest first. A file that cannot be read hides no other; the doctor names it."""
        found: dict[str, SessionLine] = {}
        deleted = self._deletions.ids()
        for path in self.open_files():
            line = self._known_line(path)
            if line is not None:
                found.setdefault(line.session_id, line)
        for line in self._index.lines().values():
            if line.session_id not in found or found[line.session_id].state == "closing":
                found[line.session_id] = line
        kept = [line for line in found.values() if line.session_id not in deleted]
        return sorted(kept, key=lambda line: (line.updated_at, line.session_id), reverse=True)

    def get(self, session_id: str) -> SessionLine:
        """One session by its id, or the beginning of it if no other begins so. Raises SessionNotFound."""
        wanted = session_id.partition("#")[0]
        begins = [line for line in self.all() if len(wanted) >= _SHORTEST_ID and line.session_id.startswith(wanted)]
        exact = [line for line in begins if line.session_id == wanted]
        if len(exact or begins) == 1:
            return (exact or begins)[0]
        what = f"several sessions begin with {wanted!r}" if begins else f"no session {wanted!r}"
        raise SessionNotFound(f"{what}; session_list, or `letopis sessions list`, shows the ids there are")

    def live(self, key: str) -> Transcript | None:
        """The live session of a key, or None."""
        transcript = self._read(self._transcripts.live_path(key))
        if transcript is None or transcript.header is None or transcript.ended_at is not None:
            return None
        return transcript

    def closed_shared(self, key: str) -> bool:
        """Whether any closed session of a key was marked as shared."""
        if any(line.key == key and line.metadata.get("shared") is True for line in self._index.lines().values()):
            return True
        closing = (self._known_line(self._workspace.closing / f"{session_id}.jsonl") for session_id in self.closing())
        return any(line and line.key == key and line.metadata.get("shared") is True for line in closing)

    def transcript(self, session_id: str, key: str | None = None) -> Transcript:
        """The whole transcript of a session; with its key, that of an open one is found at once.

        Raises SessionNotFound.
        """
        for path in self._likely(session_id, key):
            transcript = self._read(path)
            if transcript is not None and transcript.session_id == session_id:
                return transcript
        line = self.get(session_id)
        transcript = self._read(self._workspace.inside(line.transcript_path))
        if transcript is None:
            raise SessionNotFound(f"the transcript of session {session_id} is missing: {line.transcript_path}")
        return transcript

    def _likely(self, session_id: str, key: str | None) -> Iterator[Path]:
        """Where a session's file probably stands: no scan is needed then."""
        if key is not None:
            yield self._transcripts.live_path(key)
        if names.is_session_id(session_id):
            yield self._workspace.closing / f"{session_id}.jsonl"
        line = self._index.indexed_line(session_id)
        if line is not None:
            yield self._workspace.inside(line.transcript_path)

    def opening(self, line: SessionLine) -> list[Message]:
        """The first messages of a session, as many as its first bytes hold; the file is not read whole."""
        path = self._workspace.contained(self._workspace.inside(line.transcript_path))
        try:
            with path.open("rb") as file:
                head = file.read(_OPENING)
        except OSError as error:
            raise Unreadable(f"{line.transcript_path} cannot be read: {error.strerror}") from None
        whole = head if len(head) < _OPENING else head[: head.rfind(b"\n") + 1]
        return Transcript().feed(whole).messages

    def closing(self) -> list[str]:
        """The ids of the sessions that wait to be archived, oldest first."""
        waiting = []
        for path in self._workspace.closing.glob("*.jsonl"):
            try:
                waiting.append((path.stat().st_mtime_ns, path.stem))
            except FileNotFoundError:
                continue
        return [session_id for _, session_id in sorted(waiting)]

    def open_files(self) -> Iterator[Path]:
        """The files of live sessions, then of closing ones. What is no plain file of ours is passed over."""
        for folder in (self._workspace.live, self._workspace.closing):
            if folder.is_dir():
                for path in sorted(folder.glob("*.jsonl")):
                    if path.name[0] not in "._" and path.is_file() and not path.is_symlink():
                        yield path

    def _known_line(self, path: Path) -> SessionLine | None:
        """The line of an open session; a file that has not changed is not read again."""
        try:
            stat = path.stat()
            now = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            known = self._lines.get(path)
            if known is None or known[0] != now:
                transcript = self._read(path)
                has_header = transcript is not None and transcript.header is not None
                line = self._line(path, transcript) if transcript is not None and has_header else None
                known = self._lines[path] = (now, line)
        except (FileNotFoundError, Unreadable, OutsideWorkspace):
            return None
        return known[1]

    def _read(self, path: Path) -> Transcript | None:
        return self._readings.transcript(self._workspace.contained(path))

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
            metadata=transcript.metadata,
        )
