"""Closing a session: at once for the caller, the rest by whoever drains the queue.

What needs a model is imported when a model is there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from letopis.errors import LetopisError, ModelError, SessionNotFound
from letopis.lifecycle.shared import is_shared
from letopis.llm.connect import Models
from letopis.model import summary as notes
from letopis.model.proposals import Summary
from letopis.model.session import SessionLine
from letopis.model.transcript import Plan, Transcript
from letopis.store import Store

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Archived:
    """A session that was archived, and what went wrong on the way without stopping it."""

    line: SessionLine
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A session that stays in the queue, and why."""

    session_id: str
    reason: str


def close(store: Store, key: str) -> str | None:
    """End the live session of a key; returns its id, or None where nothing was said."""
    return store.transcripts.begin_close(key)


def close_idle(store: Store) -> list[str]:
    """End every live session that has been silent for `session.idle_close` minutes."""
    minutes = store.settings.session.idle_close
    closed: list[str] = []
    if minutes <= 0:
        return closed
    for line in store.sessions.all():
        if line.state == "live" and _idle_since(line.updated_at, store.clock.now(), minutes):
            session_id = store.transcripts.begin_close(line.key, line.session_id)
            closed += [session_id] if session_id else []
    return closed


def close_if_idle(store: Store, key: str) -> str | None:
    """The same for one key, before a message is added to it."""
    minutes = store.settings.session.idle_close
    if minutes <= 0:
        return None
    live = store.sessions.live(key)
    if live is None or not _idle_since(live.updated_at, store.clock.now(), minutes):
        return None
    return store.transcripts.begin_close(key, live.session_id)


def _idle_since(updated_at: str, now: datetime, minutes: float) -> bool:
    try:
        return now - datetime.fromisoformat(updated_at) >= timedelta(minutes=minutes)
    except (ValueError, TypeError):
        return False


def archive(store: Store, models: Models, session_id: str, report: Report, wait: float = 0.0) -> Archived:
    """Finish one closed session: facts, note, archive, index line. Repeats write nothing twice.

    Raises Busy where a turn still runs in it or another process archives it.
    """
    problems: list[str] = []
    with store.session_lock(session_id, wait):
        transcript = store.closing.read(session_id)
        if transcript is None:
            return Archived(store.sessions.get(session_id), ())
        if session_id in store.deletions.ids():
            store.deletions.finish(session_id)
            raise SessionNotFound(f"session {session_id} was deleted")
        if transcript.plan is None:
            store.closing.put_plan(transcript, _plan(store, models, transcript, report, problems))
        with store.work_lock(session_id, wait):
            if models.background is not None and not is_shared(store, transcript):
                from letopis.lifecycle.consolidate import consolidate_quietly

                report("taking facts")
                error = consolidate_quietly(store, models.background, transcript)
                problems += [f"facts were not taken: {error}"] if error else []
            report("archiving")
            _close_digest(store, session_id)
            return Archived(store.closing.finish(session_id), tuple(problems))


def _close_digest(store: Store, session_id: str) -> None:
    from letopis.lifecycle import digest

    transcript = store.closing.read(session_id)
    if transcript is not None and transcript.plan is not None:
        digest.close(store, transcript, transcript.plan)


def _plan(store: Store, models: Models, transcript: Transcript, report: Report, problems: list[str]) -> Plan:
    settings = store.settings.session_memory
    messages = transcript.standing()  # what was edited away was not said
    asked = sum(1 for m in messages if m.spoken and m.role == "user")
    made: Summary | None = None
    if not settings.enabled:
        status = "disabled"
    elif asked < settings.min_user_messages:
        status = "skipped"
    else:
        made = _summary(store, models, transcript, report, problems)
        status = "done" if made else "raw"
    plan = store.closing.propose(transcript, notes.slug_of(made, messages), status)
    if plan.memory_path is None:
        return plan
    header = store.closing.header_for(transcript, plan)
    return replace(plan, note=notes.render(header, made, messages) if made else notes.render_raw(header, messages))


def _summary(
    store: Store, models: Models, transcript: Transcript, report: Report, problems: list[str]
) -> Summary | None:
    if models.background is None:
        return None
    from letopis.lifecycle.summarise import summarise

    report("summarising")
    try:
        return summarise(store, models.background, transcript.standing(), transcript.folded.text())
    except ModelError as error:
        problems.append(f"no summary: {error}")
        return None


def drain(
    store: Store, models: Models, report: Report, wait: float = 0.0, stop: Callable[[], bool] = lambda: False
) -> list[Archived | Waiting]:
    """Finish every closed session, until told to stop; one that cannot be finished now stops no other."""
    out: list[Archived | Waiting] = []
    for session_id in store.sessions.closing():
        if stop():
            break
        try:
            out.append(archive(store, models, session_id, report, wait))
        except SessionNotFound:
            continue
        except LetopisError as error:
            out.append(Waiting(session_id, str(error)))
        except Exception as error:  # noqa: BLE001 (one session never stops the others; the failure is reported)
            out.append(Waiting(session_id, f"an unexpected {type(error).__name__}: {error}"))
    return out
