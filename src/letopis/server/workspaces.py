"""The workspaces that a server opens, each with its worker, and the keys that lead to them."""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from letopis.errors import LetopisError, WorkspaceError
from letopis.lifecycle.close import Archived, Waiting
from letopis.lifecycle.housekeep import Worked
from letopis.memory import Memory
from letopis.store.keys import Key, Keys, hash_of

if TYPE_CHECKING:
    from letopis.lifecycle.worker import Outcome, Worker
    from letopis.server.conversations import Conversations

EVENTS_KEPT = 500
OWNER = "owner"
Opener = Callable[[Path], Memory]


@dataclass(slots=True)
class Opened:
    """An open workspace: its memory, its conversations with clients, its worker and what that did lately."""

    name: str
    memory: Memory
    conversations: "Conversations"
    worker: "Worker"
    events: deque[tuple[int, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks: the workspace that the key leads to, its scope, and by what its requests are counted."""

    workspace: str
    scope: str
    mark: str


class Workspaces:
    """One workspace, or every one below a root; opened when it is first asked for."""

    def __init__(self, folder: Path, open_: Opener, several: bool = False) -> None:
        self._folder, self._open, self.several = folder, open_, several
        self._guard = threading.Lock()
        self._opened: dict[str, Opened] = {}
        self._keys: dict[str, Keys] = {}

    def names(self) -> list[str]:
        """The names of the workspaces; the only one has none."""
        if not self.several:
            return [""]
        found = (p for p in sorted(self._folder.iterdir()) if p.is_dir() and not p.is_symlink())
        return [p.name for p in found if p.name[0] != "." and (p / "memory").is_dir()]

    def visitor(self, key: str, loopback: bool) -> Visitor | None:
        """Whom a key belongs to; without one, the owner of the only workspace on this machine, if it has no keys."""
        if key:
            return self.of_hash(hash_of(key))
        if self.several or not loopback or self._keys_of("").guard():
            return None
        return Visitor("", "admin", OWNER)

    def of_hash(self, digest: str) -> Visitor | None:
        """Whom the key with this hash belongs to, if it opens anything."""
        for name in self.names():
            known = self._keys_of(name).by_hash().get(digest)
            if known is not None:
                return Visitor(name, known.scope, known.id)
        return None

    def lets_in(self, visitor: Visitor) -> bool:
        """Whether a visitor who was let in would still be."""
        keys = self._keys_of(visitor.workspace)
        return visitor.mark == OWNER if not keys.guard() else any(key.id == visitor.mark for key in keys.all())

    def keys(self) -> list[tuple[str, Key]]:
        """Every key with its workspace."""
        return [(name, key) for name in self.names() for key in self._keys_of(name).all()]

    def open_now(self, name: str) -> Opened | None:
        """A workspace that is open already; waits for nothing."""
        return self._opened.get(name)

    def get(self, name: str) -> Opened:
        """An open workspace by name. Raises WorkspaceError."""
        with self._guard:
            opened = self._opened.get(name)
            if opened is None:
                if name not in self.names():
                    raise WorkspaceError(f"there is no workspace {name!r}")
                opened = self._opened[name] = self._made(name)
            return opened

    def close(self) -> None:
        """Stop the workers and wait until everything is on disk."""
        with self._guard:
            for opened in self._opened.values():
                opened.worker.stop()
                opened.memory.flush()
            self._opened.clear()

    def _made(self, name: str) -> Opened:
        from letopis.server.conversations import Conversations

        memory = self._open(self._folder / name if name else self._folder)
        events: deque[tuple[int, Mapping[str, Any]]] = deque(maxlen=EVENTS_KEPT)
        numbers = itertools.count(1)
        worker = memory.worker(lambda outcome: events.append((next(numbers), _record(outcome))))
        worker.start()
        return Opened(name, memory, Conversations(memory), worker, events)

    def _keys_of(self, name: str) -> Keys:
        keys = self._keys.get(name)
        if keys is None:
            from letopis.settings import SystemClock
            from letopis.store.workspace import open_workspace

            folder = self._folder / name if name else self._folder
            keys = self._keys[name] = Keys(open_workspace(folder), SystemClock(""))
        return keys


def _record(outcome: "Outcome") -> Mapping[str, Any]:
    """What the worker did, without a word of what was said."""
    match outcome:
        case Archived():
            return {"event": "archived", "session_id": outcome.line.session_id}
        case Waiting():
            return {"event": "waiting", "session_id": outcome.session_id}
        case Worked(session_id, done, problems):
            return {"event": "worked", "session_id": session_id, "done": list(done), "problems": len(problems)}
        case LetopisError():
            return {"event": "error", "kind": type(outcome).__name__}
