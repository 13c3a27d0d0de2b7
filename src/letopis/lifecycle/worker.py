"""The background worker of a workspace: one thread, one thing at a time.

What is idle is closed, what is due in open conversations is done, what is closed is archived,
facts are tidied, and the index catches up. It delays nobody: a reply never waits for it. It can
be stopped at any moment, and whoever works on the workspace next goes on.
"""

import threading
import time
from collections.abc import Callable

from letopis.errors import LetopisError
from letopis.index import Index
from letopis.lifecycle import tidy
from letopis.lifecycle.close import Archived, Waiting, close_idle, drain
from letopis.lifecycle.housekeep import Room, Worked, housekeep
from letopis.llm.connect import Models
from letopis.model.facts import Fact
from letopis.store import Store

PAUSE = 2.0
RETRY = 60.0  # seconds until work that failed is tried again
Outcome = Archived | Waiting | Worked | LetopisError


class Worker:
    """The thread.

    `room` tells how many tokens a prompt has for a conversation; `catch_up` brings the index up to date and is
    called with what says whether to stop.
    """

    def __init__(
        self,
        store: Store,
        models: Models,
        done: Callable[[Outcome], None],
        room: Room,
        index: Index | None = None,
        catch_up: Callable[[Callable[[], bool]], int] = lambda stop: 0,
    ) -> None:
        self._store, self._models, self._index = store, models, index
        self._done, self._room, self._index_all = done, room, catch_up
        self._wake, self._stop = threading.Event(), threading.Event()
        self._seen: dict[str, int] = {}
        self._rest: dict[str, float] = {}
        self._tidied: tuple[Fact, ...] = ()
        self.step = "waiting"
        self._thread = threading.Thread(target=self._run, name="letopis-worker", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def notify(self) -> None:
        """There is something to do now."""
        self._wake.set()

    def stop(self, timeout: float = 5.0) -> bool:
        """Ask the thread to stop; whether it did. What it leaves undone stays queued."""
        self._stop.set()
        self._wake.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.once()
            self._wake.wait(PAUSE)
            self._wake.clear()

    def once(self) -> None:
        """One round."""
        for task in (self._close, self._housekeep, self._tidy, self._catch_up):
            if self._stop.is_set():
                break
            try:
                task()
            except LetopisError as error:
                self._done(error)
            except Exception as error:  # noqa: BLE001 (the worker goes on; the failure is reported)
                self._done(LetopisError(f"an unexpected {type(error).__name__}: {error}"))
        self._report("waiting")

    def _close(self) -> None:
        close_idle(self._store)
        for outcome in drain(self._store, self._models, self._report, stop=self._stop.is_set):
            self._done(outcome)

    def _housekeep(self) -> None:
        """Look at each open conversation in which something was said since the last look."""
        for line in self._store.sessions.all():
            if self._stop.is_set():
                return
            resting = time.monotonic() < self._rest.get(line.session_id, 0)
            if line.state == "live" and not resting and self._seen.get(line.session_id) != line.message_count:
                worked = housekeep(
                    self._store, self._index, self._models, line.session_id, self._room, self._report, self._stop.is_set
                )
                self._seen[line.session_id] = line.message_count
                if worked.problems:
                    self._rest[line.session_id] = time.monotonic() + RETRY
                    del self._seen[line.session_id]
                if worked.done or worked.problems:
                    self._done(worked)

    def _tidy(self) -> None:
        """Once for each state of the facts: what a person wrote by hand may keep them large."""
        facts = self._store.facts.view().facts
        if facts == self._tidied or not tidy.is_due(self._store):
            return
        self._report("tidying")
        events = tidy.tidy(self._store, self._models.background)
        self._tidied = self._store.facts.view().facts
        if events:
            self._done(Worked("MEMORY.md", (f"{len(events)} facts merged or archived",), ()))

    def _catch_up(self) -> None:
        self._report("indexing")
        made = self._index_all(self._stop.is_set)
        if made:
            self._done(Worked("the index", (f"{made} vectors made",), ()))

    def _report(self, step: str) -> None:
        self.step = step
