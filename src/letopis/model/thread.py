"""The thread of one conversation at a point: what an anchor before it keeps at hand.

From an anchor, the data said up to it and the goals that were open, a conversation goes on as if
nothing had left the window.
"""

from dataclasses import dataclass
from functools import lru_cache

from letopis.model import anchoring, tokens
from letopis.model.anchoring import Anchor, Entry
from letopis.model.goals import Goal
from letopis.model.transcript import Transcript

NOTHING_LEFT_OUT = 1 << 30


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
    entries = _ledger(_Anchors(transcript.session_id, tuple(transcript.anchors)), n)
    if transcript.superseded:
        entries = tuple(entry for entry in entries if not transcript.is_superseded(entry.item.n))
    goals = [goal for goal in transcript.goals_at(n) if goal.is_open]
    return Thread(n, before[-1] if before else None, entries, tuple(goals))


@dataclass(frozen=True, slots=True)
class _Anchors:
    """The anchors of a session, told from others by their number and the newest one: they are only added."""

    session_id: str
    every: tuple[Anchor, ...]

    def __hash__(self) -> int:
        return hash((self.session_id, len(self.every)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Anchors) or self.session_id != other.session_id:
            return False
        return len(self.every) == len(other.every) and self.every[-1:] == other.every[-1:]


@lru_cache(maxsize=32)
def _ledger(anchors: _Anchors, n: int) -> tuple[Entry, ...]:
    """The ledger is the same until there is another anchor, or another fold."""
    return tuple(anchoring.ledger(anchors.every, n))
