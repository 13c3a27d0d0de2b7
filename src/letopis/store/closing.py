"""From a closed session to its archive: plan, note, archive, index line, removal, in this order.

Every step looks first whether it was done already, so the whole can be repeated after any
crash and nothing is written twice. Whoever archives holds the lock of the session.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from letopis.errors import SessionNotFound, StoreError, WriteFailed
from letopis.model import jsonl, names, summary
from letopis.model.session import SessionLine
from letopis.model.transcript import Plan, Transcript
from letopis.settings import Clock
from letopis.store import files
from letopis.store.locks import Locks
from letopis.store.session_index import INDEX_PATH, SessionIndex
from letopis.store.transcripts import Transcripts
from letopis.store.workspace import Workspace

_TRIES = 20
_WAIT = 5.0


class Closing:
    """Archives the closed sessions of one workspace."""

    def __init__(
        self, workspace: Workspace, locks: Locks, transcripts: Transcripts, index: SessionIndex, clock: Clock
    ) -> None:
        self._workspace, self._locks, self._clock = workspace, locks, clock
        self._transcripts, self._index = transcripts, index

    def locked(self, session_id: str, timeout: float = 0.0) -> AbstractContextManager[None]:
        """The lock of a session: one turn or one archiving at a time. Raises Busy."""
        return self._locks.hold(f"session-{names.check_session_id(session_id)}", timeout, passing=True)

    def working(self, session_id: str, timeout: float = 0.0) -> AbstractContextManager[None]:
        """The lock of the background work on a session. Raises Busy."""
        return self._locks.hold(f"work-{names.check_session_id(session_id)}", timeout, passing=True)

    def read(self, session_id: str) -> Transcript | None:
        """The transcript of a session that waits to be archived; None where it does not."""
        data = files.read(self._path(session_id))
        return Transcript().feed(data) if data is not None else None

    def propose(self, transcript: Transcript, slug: str, status: str) -> Plan:
        """A plan with names that are free now; its note is still to be written."""
        ended = _moment(transcript.ended_at) or self._clock.now()
        base = names.minute(ended)
        archive = self._workspace.relative(self._workspace.archive)
        transcript_path = names.free(f"{archive}/{base}-{slug}", f"--{transcript.session_id[:8]}.jsonl", self._taken)
        memory_path = None
        if status == "done":
            memory_path = names.free(f"memory/{base}-{slug}", ".md", self._taken)
        elif status == "raw":
            memory_path = names.free(f"memory/{base}", "-session-raw.md", self._taken)
        return Plan(slug, transcript_path, memory_path, status, None)

    def header_for(self, transcript: Transcript, plan: Plan) -> summary.NoteHeader:
        """The header lines of the note that goes with a plan."""
        header = transcript.header
        if header is None:
            raise StoreError("a session without a header has no note; `letopis doctor --repair` mends it")
        ended = transcript.ended_at or transcript.updated_at
        return summary.NoteHeader(header.session_id, header.key, ended, plan.transcript_path, INDEX_PATH)

    def add_note(self, line: SessionLine, slug: str, text_of: Callable[[summary.NoteHeader], str]) -> str:
        """Give an archived session a summary note; returns its path. One that was made before is taken.

        The raw note, if there is one, stays and links to it.
        """
        header = summary.NoteHeader(line.session_id, line.key, line.ended_at, line.transcript_path, INDEX_PATH)
        with self.locked(line.session_id, _WAIT):
            path, status = self._index.newest_notes().get(line.session_id, ("", "raw"))
            if status == "raw":
                base = names.minute(_moment(line.ended_at) or self._clock.now())
                path = names.free(f"memory/{base}-{slug}", ".md", self._taken)
                if line.memory_path is not None:
                    self._link(line.memory_path, path)
                files.create(self._workspace.inside(path), text_of(header).encode())
            self._index.put(replace(line, memory_path=path, summary_status="done"))
        return path

    def _link(self, raw: str, path: str) -> None:
        """Let a raw note name the summary; written before that, for the newest note of a session counts."""
        link = f"\n[{path}]({path.removeprefix('memory/')})\n".encode()
        if link not in (files.read(self._workspace.inside(raw)) or link):
            files.append(self._workspace.inside(raw), link)

    def put_plan(self, transcript: Transcript, plan: Plan) -> None:
        """Make a plan durable."""
        if transcript.header is not None:
            key, session_id = transcript.header.key, transcript.session_id
            self._transcripts.append_records(key, session_id, [plan.record(session_id)])

    def finish(self, session_id: str) -> SessionLine:
        """Carry out the plan of a session. The caller holds the session's lock."""
        for _ in range(_TRIES):
            transcript = self.read(session_id)
            if transcript is None:
                return self._archived(session_id)
            plan = transcript.plan
            if transcript.header is None or plan is None:
                raise StoreError(f"session {session_id} has no plan yet, so it cannot be archived")
            if plan.memory_path and plan.note is not None and not self._put_note(plan, session_id):
                self._replan(transcript, plan)
                continue
            line = self._publish(transcript, plan)
            if line is not None:
                return line
        raise WriteFailed(f"session {session_id} could not be archived: its names were taken {_TRIES} times")

    def _put_note(self, plan: Plan, session_id: str) -> bool:
        path = self._workspace.inside(plan.memory_path or "")
        if files.create(path, (plan.note or "").encode()):
            return True
        text = (files.read(path) or b"").decode("utf-8", "replace")
        return summary.header_fields(text).get("Session ID") == session_id

    def _publish(self, transcript: Transcript, plan: Plan) -> SessionLine | None:
        """Archive, index line, removal; None where the session changed meanwhile or a name was taken."""
        path, source = self._workspace.inside(plan.transcript_path), self._path(transcript.session_id)
        body = files.read(source)
        if body is None:
            return None
        body += b"" if body.endswith(b"\n") else b"\n"
        line = self._line(Transcript().feed(body), plan)
        head = jsonl.encode({"_type": "archive", "v": 1, **line.record()})
        key = line.key
        with files.prepared(path, head + body) as publish, self._transcripts.locked(key):
            now = files.read(source)
            if now is None or len(now) + (not now.endswith(b"\n")) != len(body):
                return None
            if not publish() and not self._is_ours(path, line.session_id, head + body):
                self._replan(transcript, plan, locked=True)
                return None
            self._index.put(line)
            files.remove(source)
        return line

    def _is_ours(self, path: Path, session_id: str, data: bytes) -> bool:
        """Whether an archive that stands already is this session's; an unfinished one is made whole."""
        found = files.read(path) or b""
        if found == data:
            return True
        first = next(iter(jsonl.lines(found[: found.find(b"\n") + 1])), None)
        if isinstance(first, jsonl.GoodLine) and first.record.get("session_id") == session_id:
            files.replace(path, data)
            return True
        return False

    def _replan(self, transcript: Transcript, plan: Plan, locked: bool = False) -> None:
        """Take other names: somebody else has made files of these names meanwhile."""
        fresh = self.propose(transcript, plan.slug, plan.summary_status)
        note = plan.note.replace(plan.transcript_path, fresh.transcript_path) if plan.note is not None else None
        record = replace(fresh, note=note).record(transcript.session_id)
        if locked:
            files.append(self._path(transcript.session_id), jsonl.encode(record))
        else:
            self.put_plan(transcript, replace(fresh, note=note))

    def _line(self, transcript: Transcript, plan: Plan) -> SessionLine:
        header = transcript.header
        assert header is not None
        return SessionLine(
            session_id=header.session_id,
            key=header.key,
            slug=plan.slug,
            created_at=header.created_at,
            updated_at=transcript.updated_at,
            ended_at=transcript.ended_at or transcript.updated_at,
            message_count=len(transcript.messages),
            transcript_path=plan.transcript_path,
            memory_path=plan.memory_path,
            session_index_path=INDEX_PATH,
            summary_status=plan.summary_status,
            persona=header.persona,
            metadata=transcript.metadata,
        )

    def _archived(self, session_id: str) -> SessionLine:
        line = self._index.lines().get(session_id)
        if line is None:
            raise SessionNotFound(f"session {session_id} is neither closing nor archived")
        return line

    def _path(self, session_id: str) -> Path:
        return self._workspace.closing / f"{names.check_session_id(session_id)}.jsonl"

    def _taken(self, relative: str) -> bool:
        return self._workspace.inside(relative).exists()


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text or "")
    except ValueError:
        return None
