"""What is due in an open conversation: facts, folding, digest; one at a time for each session.

Whoever finds a session being worked on leaves it: the work that is going on takes in what is new.
"""

from collections.abc import Callable
from dataclasses import dataclass

from letopis.errors import Busy, LetopisError, SessionArchived
from letopis.index import Index
from letopis.lifecycle import consolidate as facts
from letopis.lifecycle import digest, fold
from letopis.lifecycle.anchor import anchor
from letopis.lifecycle.shared import is_shared
from letopis.llm import ChatModel
from letopis.llm.connect import Models
from letopis.model.transcript import Transcript
from letopis.store import Store

Report = Callable[[str], None]
Room = Callable[[Transcript], int]


@dataclass(frozen=True, slots=True)
class Worked:
    """What was done in a session, and what went wrong without stopping the rest."""

    session_id: str
    done: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Work:
    store: Store
    index: Index | None
    model: ChatModel | None
    session_id: str
    room: Room
    report: Report
    stop: Callable[[], bool]
    done: list[str]
    problems: list[str]

    def transcript(self) -> Transcript:
        return self.store.sessions.transcript(self.session_id)


def due(store: Store, models: Models, transcript: Transcript, room: int) -> list[str]:
    """The names of the work that waits in a session."""
    shared = is_shared(store, transcript)
    out = []
    if models.background is not None and not shared and facts.is_due(store, transcript):
        out.append("consolidate")
    if fold.due(store, transcript, room):
        out.append("fold" if store.settings.compression.enabled else "flush")
    streak = facts.failures(transcript, store.clock.now())
    return [*out, f"{streak} failures in a row"] if streak else out


def housekeep(
    store: Store,
    index: Index | None,
    models: Models,
    session_id: str,
    room: Room,
    report: Report = lambda step: None,
    stop: Callable[[], bool] = lambda: False,
) -> Worked:
    """Do what is due in a session; one that is closed meanwhile is left to its archiving."""
    work = _Work(store, index, models.background, session_id, room, report, stop, [], [])
    try:
        with store.work_lock(session_id):
            for step in (_anchor, _consolidate, _fold, _digest):
                if not stop():
                    _carefully(work, step)
    except Busy:
        pass
    return Worked(session_id, tuple(work.done), tuple(work.problems))


def make_room(store: Store, session_id: str, room: int) -> bool:
    """Fold, or flush, what a prompt with so much room cannot hold, without a model; whether anything was done."""
    work = _Work(store, None, None, session_id, lambda transcript: room, lambda step: None, lambda: False, [], [])
    try:
        with store.work_lock(session_id):
            for step in (_anchor, _fold):
                _carefully(work, step)
    except Busy:
        pass
    return "folded" in work.done


def _carefully(work: _Work, step: Callable[[_Work], None]) -> None:
    """One step; a failure is told and stops no other step."""
    try:
        step(work)
    except SessionArchived:
        pass
    except LetopisError as error:
        work.problems.append(str(error))
    except Exception as error:  # noqa: BLE001 (one step never stops the others; the failure is told)
        work.problems.append(f"an unexpected {type(error).__name__}: {error}")


def _consolidate(work: _Work) -> None:
    transcript = work.transcript()
    if work.model is None or is_shared(work.store, transcript):
        return
    while facts.is_due(work.store, transcript) and not work.stop():
        work.report("taking facts")
        outcome = facts.attempt(work.store, work.model, transcript)
        if isinstance(outcome, facts.Failed):
            work.problems.append(_told(outcome))
            return
        work.done.append("consolidated")
        transcript = work.transcript()


def _told(outcome: facts.Failed) -> str:
    after = "; after three failures the turns are in the raw archive" if outcome.raw else ""
    return f"facts were not taken: {outcome.error}{after}"


def _fold(work: _Work) -> None:
    transcript = work.transcript()
    room = work.room(transcript)
    upto = fold.due(work.store, transcript, room)
    reached = 0
    while reached < upto and not work.stop():
        work.report("folding")
        reached = fold.fold(work.store, work.model, transcript, upto, room)
        work.done.append("folded" if work.store.settings.compression.enabled else "flushed")
        transcript = work.transcript()


def _anchor(work: _Work) -> None:
    if anchor(work.store, work.index, work.model, work.transcript(), work.stop):
        work.done.append("anchored")


def _digest(work: _Work) -> None:
    if digest.refresh(work.store, work.transcript()):
        work.done.append("digested")
