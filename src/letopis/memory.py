"""The library: `open_memory` and the handful of methods that everything else is made of.

What only a turn needs is imported when a turn is taken.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from letopis import settings
from letopis.errors import SessionNotFound, Unreadable, WorkspaceError
from letopis.lifecycle import close as closing
from letopis.lifecycle import remember as remembering
from letopis.lifecycle.lookup import listed, meant
from letopis.lifecycle.shared import is_shared, is_shared_key
from letopis.llm import connect
from letopis.llm.connect import Models
from letopis.llm.embedding import Embedder, choose
from letopis.model.facts import Fact
from letopis.model.search import Found, Query
from letopis.model.session import SessionLine
from letopis.model.transcript import Transcript
from letopis.settings import Clock, Loaded, SystemClock
from letopis.store import Store, open_store
from letopis.store.bootstrap import soul_of
from letopis.store.transcripts import Appended

if TYPE_CHECKING:
    from letopis.context import Prompt
    from letopis.experience import Desk
    from letopis.experience.review import Reviewed
    from letopis.experience.suggest import Suggestion
    from letopis.index import Index
    from letopis.lifecycle.worker import Outcome, Worker
    from letopis.model.evidence import Pack
    from letopis.model.goals import Goal
    from letopis.model.messages import Message
    from letopis.short_term.restore import Restored
    from letopis.turn import Done, Event, Failed

DEFAULT_KEY = "cli:local"


class Memory:
    """The memory of one workspace. Safe to use from several threads and processes."""

    def __init__(self, store: Store, models: Models, embedder: Embedder | None, loaded: Loaded) -> None:
        self.store, self.models, self.loaded = store, models, loaded
        self._embedder = embedder

    @cached_property
    def index(self) -> "Index":
        """The search index, opened when it is first asked."""
        from letopis.index import Index

        return Index(self.store, self._embedder)

    @cached_property
    def desk(self) -> "Desk":
        """Experience: the questions answered well, and the lessons of those answered badly."""
        from letopis.experience import desk_of

        return desk_of(self.store, self.index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()
        if "index" in self.__dict__:
            self.index.close()

    def append(
        self,
        key: str,
        message: Mapping[str, Any],
        *,
        session_id: str | None = None,
        persona: str = "default",
        metadata: Mapping[str, Any] | None = None,
    ) -> Appended:
        """Keep a message (OpenAI chat form) of a conversation; it is on disk when this returns."""
        return self.store.transcripts.append(key, message, session_id=session_id, persona=persona, metadata=metadata)

    def turn(
        self,
        key: str,
        message: str | Mapping[str, Any],
        *,
        persona: str = "default",
        metadata: Mapping[str, Any] | None = None,
    ) -> "Done | Failed":
        """Answer a message, with the memory, and keep both; the last event of `stream`."""
        from letopis.turn import Done, Failed

        last: Event | None = None
        for event in self.stream(key, message, persona=persona, metadata=metadata):
            last = event
        assert isinstance(last, Done | Failed)
        return last

    def stream(
        self,
        key: str,
        message: str | Mapping[str, Any],
        *,
        persona: str = "default",
        metadata: Mapping[str, Any] | None = None,
    ) -> "Iterator[Event]":
        """The same, event by event."""
        from letopis import turn

        return turn.stream(self.store, self.models, self.index, key, message, persona, metadata)

    def context(self, key: str, *, persona: str = "default") -> "Prompt":
        """The prompt that the next reply under this key would get."""
        from letopis import context, tools

        live = self.store.sessions.live(key)
        persona = live.header.persona if live and live.header else persona
        specs = [tool.spec() for tool in tools.available(self.store).values()]
        return context.assemble(self.store, live, specs, is_shared_key(self.store, key), persona)

    def check_persona(self, persona: str) -> None:
        """Raises WorkspaceError where a persona has no character of its own."""
        if persona != "default" and self.store.bootstrap(soul_of(persona)) is None:
            raise WorkspaceError(f"there is no persona {persona!r}; write its character into {soul_of(persona)}")

    def close(self, key: str) -> str | None:
        """End the live session of a key, at once; returns its id, or None where nothing was said.

        What is left (facts, summary, archive) is done by `drain`.
        """
        return closing.close(self.store, key)

    def drain(self, report: closing.Report = lambda step: None) -> list[closing.Archived | closing.Waiting]:
        """Finish every closed session that waits."""
        return closing.drain(self.store, self.models, report)

    def worker(self, done: "Callable[[Outcome], None]") -> "Worker":
        """The background worker of this workspace; `done` is told of each outcome."""
        from letopis.lifecycle.worker import Worker

        return Worker(self.store, self.models, done, self.room, self.index, self.catch_up)

    def work(self, done: "Callable[[Outcome], None]" = lambda outcome: None) -> None:
        """One round of the worker, here and now: for programs that run no worker of their own."""
        self.worker(done).once()

    def due(self) -> dict[str, list[str]]:
        """The work that waits for the worker in open conversations, by session id; under "" that on the facts."""
        from letopis.lifecycle import housekeep, tidy

        found = {}
        for line in self.store.sessions.all():
            if line.state == "live":
                transcript = self.store.sessions.transcript(line.session_id, line.key)
                found[line.session_id] = housekeep.due(self.store, self.models, transcript, self.room(transcript))
        found[""] = ["tidy"] if tidy.is_due(self.store) else []
        return {name: what for name, what in found.items() if what}

    def unseen(self) -> int:
        """How many archived sessions have messages from which no facts were taken, imported ones aside."""
        taken: dict[str, int] = {}
        for batch in self.store.facts.batches():
            if batch.session_id is not None and batch.span is not None:
                taken[batch.session_id] = max(batch.span[1], taken.get(batch.session_id, 0))
        own = [line for line in self.store.sessions.all() if line.state == "archived" and "import" not in line.metadata]
        kept = [line for line in own if line.metadata.get("shared") is not True]
        return sum(taken.get(line.session_id, 0) < line.message_count for line in kept)

    def room(self, transcript: Transcript) -> int:
        """How many tokens the next prompt of a session has for its conversation."""
        from letopis import context, tools

        persona = transcript.header.persona if transcript.header else "default"
        specs = [tool.spec() for tool in tools.available(self.store).values()]
        return context.room(self.store, transcript, specs, is_shared(self.store, transcript), persona)

    def catch_up(self, stop: Callable[[], bool] = lambda: False) -> int:
        """Bring the index up to date, vectors too; returns how many vectors were made."""
        self.index.sync()
        return self.index.fill(stop=stop)

    def remember(
        self, text: str, *, key: str = "cli:remember", section: str = ""
    ) -> remembering.Kept | remembering.Known:
        """Keep a fact that a person tells. Raises FactRefused."""
        return remembering.remember(self.store, text, key, section)

    def forget(self, words: str, *, expected: Fact | None = None) -> remembering.Removed:
        """Remove the one fact that the words mean. Raises NoSingleMatch with the candidates.

        With `expected` only where the fact is still as it was seen. Raises FactChanged.
        """
        return remembering.forget(self.store, words, expected=expected)

    def replace(
        self, fact: str, text: str, *, key: str = "http:told", expected: Fact | None = None
    ) -> remembering.Kept | remembering.Known:
        """Put a new text in the place of a fact: the words are stored under `key` and cited. Raises FactRefused.

        With `expected` only where the fact is still as it was seen. Raises FactChanged.
        """
        return remembering.replace_fact(self.store, fact, text, key, expected)

    def facts(self) -> tuple[Fact, ...]:
        """The curated facts as they are now, a person's edits included. Raises Unreadable."""
        view = self.store.facts.view()
        if view.problem:
            raise Unreadable(view.problem)
        return view.facts

    def search(self, text: str, *, scope: str = "all", k: int = 10, **filters: str | None) -> Found:
        """Find what was kept or said. Filters: key, session_id, persona, kind, path, since, until, within.

        Raises SessionNotFound for a key or session that there is none of: that is not "nothing found".
        """
        for name in ("key", "session_id"):
            wanted = filters.get(name)
            if wanted and not any(getattr(line, name) == wanted for line in self.store.sessions.all()):
                raise SessionNotFound(f"there is no session with {name} {wanted!r}; `letopis sessions list` shows them")
        return self.index.search(Query(text, scope, k, **filters))

    def research(self, question: str, *, session_id: str | None = None) -> "Pack":
        """Evidence on a question that one search cannot answer; of a session its anchors and history too."""
        from letopis.lifecycle.research import research

        session_id = self.store.sessions.get(session_id).session_id if session_id else None
        return research(self.store, self.index, question, self.models.background, session_id)

    def suggest(self, question: str, *, collection: str | None = None, keep: bool = True) -> "Suggestion":
        """An answer from experience, with what it rests on and whether a person should look.

        With `keep` it is noted: a person can review it, and the figures count it.
        """
        from letopis.experience.draft import drafted

        found = self.desk.suggest(question, collection)
        if self.models.background is not None:
            found = drafted(self.desk, found, self.models.background)
        return self.desk.keep(found) if keep else found

    def review(
        self, suggestion: str, outcome: str, right_answer: str = "", *, note: str = "", reviewer: str = "operator"
    ) -> "Reviewed":
        """What a person says of a suggestion: approved, edited or rejected. Raises InvalidInput."""
        from letopis.experience.review import review

        return review(self.desk, suggestion, outcome, right_answer, note, reviewer, self.models.background)

    def tail(self, key: str, budget: int) -> "list[Message]":
        """The newest whole turns under a key within a budget of tokens; after what is folded."""
        from letopis.short_term.tail import tail

        live = self.store.sessions.live(key)
        return tail(self.store, self.index, live.session_id, budget) if live is not None else []

    def restore(self, session_id: str, at: int | str, budget: int = 2_000) -> "Restored":
        """The thread of a session as it was at a message, by number or by words that it holds.

        Raises SessionNotFound.
        """
        from letopis.short_term.restore import restore

        return restore(self.store, self.index, self.store.sessions.get(session_id).session_id, at, budget)

    def goals(self, key: str) -> "list[Goal]":
        """What the user is trying to get done in the live session of a key, ended goals last."""
        live = self.store.sessions.live(key)
        return sorted(live.goals_at(), key=lambda goal: not goal.is_open) if live is not None else []

    def sessions(self, **filters: str | None) -> Sequence[SessionLine]:
        """The sessions there are, newest first. Filters as `session_list` has them."""
        return listed(self.store, filters)

    def history(self, *, session_id: str | None = None, key: str | None = None) -> tuple[SessionLine, Transcript]:
        """A session and its transcript, by id or the newest under a key. Raises SessionNotFound."""
        line = meant(self.store, session_id, key, None)
        return line, self.store.sessions.transcript(line.session_id)

    def flush(self) -> None:
        """Wait until everything accepted is on disk (matters with durability "batch")."""
        self.store.flush()


def open_memory(
    folder: str | Path,
    *,
    models: Models | None = None,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    **flags: Any,
) -> Memory:
    """Open the workspace in a folder; what a crash left undone is finished first.

    Further settings by their name with `__` for the dot: `session_memory__enabled=False`.
    Raises WorkspaceError and SettingsError.
    """
    path = Path(folder)
    named = {name.replace("__", "."): value for name, value in flags.items()}
    loaded = settings.load(path, os.environ if environ is None else environ, named)
    made = clock or SystemClock(loaded.settings.timezone)
    store = open_store(path, loaded.settings, made)
    store.recover()
    return Memory(store, models or connect(loaded.settings), embedder or choose(loaded.settings), loaded)


__all__ = ["DEFAULT_KEY", "Memory", "open_memory"]
