"""One workspace's store: transcripts, sessions, notes and facts behind one object.

Everything above speaks to it by keys, session ids, names of notes and facts.
"""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from letopis.model.session import SessionLine
from letopis.settings import Clock, Settings
from letopis.store import bootstrap, recovery
from letopis.store.closing import Closing
from letopis.store.deletions import Deletions
from letopis.store.experience import Experience
from letopis.store.facts import Facts
from letopis.store.imported import Imported
from letopis.store.locks import Locks
from letopis.store.notes import Notes
from letopis.store.scanning import Scanning
from letopis.store.session_index import SessionIndex
from letopis.store.sessions import Sessions
from letopis.store.transcripts import Transcripts
from letopis.store.usage import UsageLog
from letopis.store.workspace import Workspace, open_workspace

_DELETE_WAIT = 5.0
PROFILE = "USER.md"


@dataclass(frozen=True, slots=True)
class Store:
    """The files of one workspace."""

    workspace: Workspace
    locks: Locks
    settings: Settings
    clock: Clock
    transcripts: Transcripts
    sessions: Sessions
    index: SessionIndex
    closing: Closing
    deletions: Deletions
    facts: Facts
    notes: Notes
    scanning: Scanning
    imported: Imported
    usage: UsageLog
    experience: Experience

    def bootstrap(self, name: str) -> bootstrap.BootstrapFile | None:
        """A file of the person's, by name."""
        return bootstrap.read(self.workspace, name)

    def profile(self) -> bytes | None:
        """The bytes of `USER.md`; None where there is none. Raises Unreadable and OutsideWorkspace."""
        return bootstrap.load(self.workspace, PROFILE)

    def write_profile(self, data: bytes, expected: bytes | None) -> bool:
        """Put an edited `USER.md` in place; False where it is not what was `expected` any more."""
        with self.locks.hold("profile"):
            return bootstrap.save(self.workspace, PROFILE, data, expected)

    def session_lock(self, session_id: str, timeout: float = 0.0) -> AbstractContextManager[None]:
        """Held by a running turn, and by whoever archives. Raises Busy."""
        return self.closing.locked(session_id, timeout)

    def work_lock(self, session_id: str, timeout: float = 0.0) -> AbstractContextManager[None]:
        """Held by whoever consolidates, folds or digests a session: one at a time. Raises Busy."""
        return self.closing.working(session_id, timeout)

    def delete_session(self, session_id: str) -> tuple[SessionLine, list[str]]:
        """Delete a session for good: transcript, notes, index line.

        Returns what the session was, and the paths that went. Raises SessionNotFound, and Busy
        while a turn runs in it.
        """
        line = self.sessions.get(session_id)
        with self.session_lock(session_id, _DELETE_WAIT), self.work_lock(session_id, _DELETE_WAIT):
            if line.state == "live":
                self.transcripts.begin_close(line.key, session_id)
            with self.transcripts.locked(line.key):
                line = self.sessions.get(session_id)
                return line, self.deletions.delete(session_id)

    def recover(self) -> None:
        """Finish what a crash left undone, short of what needs a model."""
        recovery.recover(self)

    def flush(self) -> None:
        """Wait until everything accepted is on disk."""
        self.transcripts.flush()


def open_store(folder: Path, settings: Settings, clock: Clock) -> Store:
    """The store of the workspace in a folder. Raises WorkspaceError."""
    workspace = open_workspace(folder)
    locks = Locks(workspace.internal / "locks")
    transcripts = Transcripts(workspace, locks, clock, settings.durability)
    index = SessionIndex(workspace, locks)
    deletions = Deletions(workspace, locks, index)
    closing = Closing(workspace, locks, transcripts, index, clock)
    return Store(
        workspace=workspace,
        locks=locks,
        settings=settings,
        clock=clock,
        transcripts=transcripts,
        sessions=Sessions(workspace, index, transcripts, deletions),
        index=index,
        closing=closing,
        deletions=deletions,
        facts=Facts(workspace, locks, clock),
        notes=Notes(workspace, locks),
        scanning=Scanning(workspace, index),
        imported=Imported(workspace, locks, closing, index),
        usage=UsageLog(workspace),
        experience=Experience(workspace, locks, clock),
    )
