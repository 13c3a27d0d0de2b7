"""The background worker: closes what is idle, archives what is closed, one at a time.

It delays nobody: a reply never waits for it. It can be stopped at any moment, and whoever
drains the queue next goes on.
"""

import threading
from collections.abc import Callable

from letopis.errors import LetopisError
from letopis.lifecycle.close import Archived, Waiting, close_idle, drain
from letopis.llm.connect import Models
from letopis.store import Store

PAUSE = 2.0


class Worker:
    """A thread that drains the queue of one workspace, and lets the index catch up in between.

    `index` is called with what says whether to stop.
    """

    def __init__(
        self,
        store: Store,
        models: Models,
        done: Callable[[Archived | Waiting | LetopisError], None],
        index: Callable[[Callable[[], bool]], object] = lambda stop: None,
    ) -> None:
        self._store, self._models, self._done, self._index = store, models, done, index
        self._wake, self._stop = threading.Event(), threading.Event()
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
        """One round: what is idle is closed, what is closed is archived."""
        try:
            close_idle(self._store)
            for outcome in drain(self._store, self._models, self._report, stop=self._stop.is_set):
                self._done(outcome)
            self._report("indexing")
            self._index(self._stop.is_set)
            self._report("waiting")
        except LetopisError as error:
            self._done(error)
        except Exception as error:  # noqa: BLE001 (the worker goes on; the failure is reported)
            self._done(LetopisError(f"an unexpected {type(error).__name__}: {error}"))

    def _report(self, step: str) -> None:
        self.step = step
