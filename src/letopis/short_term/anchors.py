"""Places anchors as a conversation goes on: lines of its transcript with the exact data said since the last.

One is placed where the topic changes, where data was updated, and after so many characters at the latest.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from letopis.errors import ModelError, SearchError
from letopis.index import Index
from letopis.model import anchoring, names, turns
from letopis.model.anchoring import Anchor, Item
from letopis.model.messages import Message
from letopis.model.transcript import Transcript, state_record
from letopis.short_term import topics
from letopis.store import Store

TOPIC_CHANGED = "the topic changed"


@dataclass(frozen=True, slots=True)
class Due:
    """An anchor that should be placed after these messages; `topic_from` is where the running topic began then."""

    messages: tuple[Message, ...]
    reason: str
    topic_from: int


def due(transcript: Transcript, index: Index | None) -> list[Due]:
    """The anchors to place, oldest first; without an index a change of topic shows in the words alone."""
    last = transcript.anchors[-1].last if transcript.anchors else 0
    topic_from = transcript.topic_from
    told = [m for m in transcript.standing(min(last, topic_from - 1)) if not m.internal]
    known = anchoring.values(entry.item for entry in anchoring.ledger(transcript.anchors))
    found: list[Due] = []
    pending: list[Message] = []
    running = deque((m for m in told if topic_from <= m.n <= last and topics.counts(m)), maxlen=topics.SEEN)
    for turn in turns.split(m for m in told if m.n > last):
        asked = turn[0].n > topic_from and _is_answered(turn, transcript)
        if asked and _shifts(transcript, turn, list(running), index):
            topic_from = turn[0].n
            running.clear()
            if pending:
                found.append(Due(tuple(pending), TOPIC_CHANGED, topic_from))
                known |= anchoring.values(anchoring.items(pending))
                pending = []
        pending += turn
        running.extend(m for m in turn if m.n >= topic_from and topics.counts(m))
        reason = anchoring.due(pending, known)
        if reason:
            found.append(Due(tuple(pending), reason, topic_from))
            known |= anchoring.values(anchoring.items(pending))
            pending = []
    return found


def _is_answered(turn: Sequence[Message], transcript: Transcript) -> bool:
    return len(turn) > 1 or turn[-1].n < transcript.last_n


def _shifts(transcript: Transcript, turn: Sequence[Message], running: Sequence[Message], index: Index | None) -> bool:
    spoken = [m for m in turn if topics.counts(m)]
    if index is not None and index.has_vectors:
        try:
            return topics.shifts(spoken, running, lambda ns: index.meanings(transcript.session_id, ns), index.plain)
        except (SearchError, ModelError):
            pass  # the words decide
    return topics.shifts(spoken, running, None, None)


def place(
    store: Store,
    transcript: Transcript,
    due: Due,
    topic: str = "",
    told: Sequence[Item] = (),
    goals: Sequence[str] = (),
) -> Anchor:
    """Write an anchor: what is extracted from its messages, and what a model told of them beside it."""
    data = list(dict.fromkeys(anchoring.items(due.messages)))
    known = {anchoring.subject(item.text) for item in data}
    data += [item for item in told if anchoring.subject(item.text) not in known]
    first = (transcript.anchors[-1].last if transcript.anchors else 0) + 1
    anchor = Anchor(
        topic or anchoring.topic(due.messages), tuple(data), first, due.messages[-1].n, due.reason, tuple(goals)
    )
    at, session_id = names.stamp(store.clock.now()), transcript.session_id
    records = [anchor.record(session_id, at)]
    if due.topic_from != transcript.topic_from:
        records.append(state_record(session_id, at, {"topic_from": due.topic_from}))
    assert transcript.header is not None
    store.transcripts.append_records(transcript.header.key, session_id, records)
    return anchor
