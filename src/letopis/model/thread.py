"""The thread of one conversation at a point: what an anchor before it keeps at hand.

From an anchor, the data said up to it and the goals that were open, a conversation goes on as if
nothing had left the window.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from letopis.model import anchoring, tokens
from letopis.model.anchoring import Anchor, Entry
from letopis.model.goals import Goal
from letopis.model.transcript import Transcript

NOTHING_LEFT_OUT = 1 << 30
MOST_GOALS = 12


@dataclass(frozen=True, slots=True)
class Thread:
    """The nearest anchor before message `n`, all data said up to `n` in its newest form, and the open goals."""

    n: int
    anchor: Anchor | None
    entries: tuple[Entry, ...]
    goals: tuple[Goal, ...]

    @property
    def resumes(self) -> int:
        """The message after the anchor: from here on the words themselves are needed."""
        return self.anchor.last + 1 if self.anchor else 1

    def text(self, budget: int = NOTHING_LEFT_OUT) -> str:
        """The thread as it stands in a prompt: the newest data that fits, then the goals."""
        goals = "\n".join(f"- [{goal.id}] {goal.text} (#{goal.opened})" for goal in self.goals)
        lead = f"Goals still open:\n{goals}" if goals else ""
        data = anchoring.text(self.entries, budget - tokens.estimate(lead)) if self.entries else ""
        return "\n".join(filter(None, [data, lead]))


def at(transcript: Transcript, n: int) -> Thread:
    """The thread at message `n`."""
    before = [anchor for anchor in transcript.anchors if anchor.last <= n]
    anchors = _Anchors(transcript.session_id, tuple(transcript.anchors), tuple(transcript.superseded))
    entries = _ledger(anchors, n)
    goals = open_goals(transcript, n)
    return Thread(n, before[-1] if before else None, entries, tuple(goals))


def open_goals(transcript: Transcript, n: int | None = None) -> list[Goal]:
    """The newest goals that were open at message `n`, or are now; those of edited turns are none."""
    found = [g for g in transcript.goals_at(n) if g.is_open and not transcript.is_superseded(g.opened)]
    return found[-MOST_GOALS:]


@dataclass(frozen=True, slots=True)
class _Anchors:
    """The anchors of a session, told from others by their number and the newest one: they are only added."""

    session_id: str
    every: tuple[Anchor, ...]
    superseded: tuple[tuple[int, int], ...]

    def __hash__(self) -> int:
        return hash((self.session_id, len(self.every), len(self.superseded)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Anchors) or self.session_id != other.session_id:
            return False
        if self.superseded != other.superseded:
            return False
        return len(self.every) == len(other.every) and self.every[-1:] == other.every[-1:]


@lru_cache(maxsize=32)
def _ledger(anchors: _Anchors, n: int) -> tuple[Entry, ...]:
    """The ledger is the same until there is another anchor, or another fold."""
    gone = anchors.superseded
    standing = (
        replace(anchor, data=tuple(i for i in anchor.data if not any(a <= i.n <= b for a, b in gone)))
        if gone
        else anchor
        for anchor in anchors.every
    )
    return tuple(anchoring.ledger(standing, n))
