"""Follows the goals of a conversation: lines of its transcript, by what the user says or by a tool."""

from collections.abc import Sequence
from dataclasses import replace

from letopis.errors import InvalidInput, NoSingleMatch
from letopis.model import goals, names
from letopis.model.goals import Goal
from letopis.model.transcript import Transcript, state_record
from letopis.store import Store

_LOOK_EVERY = 20


def follow(store: Store, transcript: Transcript) -> list[Goal]:
    """Note the goals that changed by what was said since the last look; returns them."""
    seen = transcript.state.get("goals_seen")
    fresh = [m for m in transcript.standing(seen if isinstance(seen, int) else 0) if m.spoken]
    changed = goals.said(fresh, transcript.goals_at())
    if transcript.header is not None and (changed or len(fresh) >= _LOOK_EVERY):
        at, session_id = names.stamp(store.clock.now()), transcript.session_id
        records = [goal.record(session_id, at) for goal in changed]
        records.append(state_record(session_id, at, {"goals_seen": fresh[-1].n}))
        store.transcripts.append_records(transcript.header.key, session_id, records)
    return changed


def open_goal(store: Store, transcript: Transcript, text: str, n: int) -> Goal:
    """Open a goal, or note that an open one moves on. Raises InvalidInput where the text says nothing."""
    goal = goals.new(text, n)
    if not goal.text:
        raise InvalidInput("a goal needs a text: what the user wants to get done")
    known = next((g for g in transcript.goals_at() if g.id == goal.id and g.is_open), None)
    goal = replace(known, state="advanced", n=n) if known else goal
    note(store, transcript, [goal])
    return goal


def end_goal(store: Store, transcript: Transcript, words: str, n: int, dropped: bool = False) -> Goal:
    """Note that a goal is done, or dropped. Raises NoSingleMatch where the words mean none that is open."""
    every = transcript.goals_at()
    ended_already = next((g for g in every if not g.is_open and goals.is_like(g, goals.new(words, n))), None)
    if ended_already is not None:
        return ended_already
    known = [goal for goal in every if goal.is_open]
    goal = goals.named(words, known)
    if goal is None:
        shown = "; ".join(f"{g.id} {g.text}" for g in known) or "none"
        raise NoSingleMatch(f"no open goal is meant by {words!r}; open are: {shown}", [g.text for g in known])
    ended = replace(goal, state="dropped" if dropped else "done", n=n)
    note(store, transcript, [ended])
    return ended


def note(store: Store, transcript: Transcript, changed: Sequence[Goal]) -> None:
    """Write goals as they are now."""
    if changed and transcript.header is not None:
        at = names.stamp(store.clock.now())
        records = [goal.record(transcript.session_id, at) for goal in changed]
        store.transcripts.append_records(transcript.header.key, transcript.session_id, records)
