"""A transcript as values: what its lines say, whatever file they stand in.

Lines are fed in order; for everything but messages the last one wins, so a transcript is
never rewritten. A damaged line is counted and the others are read.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from letopis.model import anchoring, folding, goals, jsonl
from letopis.model.anchoring import Anchor
from letopis.model.folding import Folded
from letopis.model.goals import Goal
from letopis.model.messages import Message, from_stored

POINTERS = ("last_consolidated", "last_flushed", "folded_through")


@dataclass(frozen=True, slots=True)
class Header:
    """Line 1 of a live transcript."""

    session_id: str
    key: str
    persona: str
    created_at: str
    metadata: Mapping[str, Any]

    @classmethod
    def recovered(cls, session_id: str, key: str, at: str) -> "Header":
        """The header of a transcript whose own is damaged."""
        return cls(session_id, key, "default", at, {"recovered": True})

    def record(self) -> dict[str, Any]:
        """The header as its line."""
        return {
            "_type": "session",
            "v": 1,
            "session_id": self.session_id,
            "key": self.key,
            "persona": self.persona,
            "created_at": self.created_at,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """How a closed session is archived; a repeat follows it, so nothing is written twice.

    Paths are relative to the workspace; `note` is the whole text of the note.
    """

    slug: str
    transcript_path: str
    memory_path: str | None
    summary_status: str
    note: str | None

    def record(self, session_id: str) -> dict[str, Any]:
        """The plan as its line."""
        return {
            "_type": "plan",
            "session_id": session_id,
            "slug": self.slug,
            "transcript_path": self.transcript_path,
            "memory_path": self.memory_path,
            "summary_status": self.summary_status,
            "note": self.note,
        }


@dataclass(slots=True)
class Transcript:
    """Everything that the lines of one session say so far."""

    header: Header | None = None
    archive: Mapping[str, Any] | None = None
    messages: list[Message] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    superseded: list[tuple[int, int]] = field(default_factory=list)
    anchors: list[Anchor] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    ended_at: str | None = None
    plan: Plan | None = None
    bad: list[jsonl.BadLine] = field(default_factory=list)

    @property
    def session_id(self) -> str:
        """The id from the header; empty where no header could be read."""
        return self.header.session_id if self.header else ""

    @property
    def last_n(self) -> int:
        """The number of the newest message; 0 where there is none."""
        return self.messages[-1].n if self.messages else 0

    @property
    def updated_at(self) -> str:
        """The time of the newest message, else that of creation."""
        if self.messages:
            return self.messages[-1].timestamp
        return self.header.created_at if self.header else ""

    @property
    def last_consolidated(self) -> int:
        """The number up to which facts were taken: 0 … last_n."""
        return self.pointer("last_consolidated")

    @property
    def last_flushed(self) -> int:
        """The number up to which the daily note was written."""
        return self.pointer("last_flushed")

    @property
    def folded_through(self) -> int:
        """The number up to which messages are in the folded summary and no longer in the prompt."""
        return self.pointer("folded_through")

    @property
    def topic_from(self) -> int:
        """The number of the message with which the running topic began."""
        value = self.state.get("topic_from")
        return value if isinstance(value, int) and value > 0 else 1

    def pointer(self, name: str, last_n: int | None = None) -> int:
        """One of POINTERS: 0 … last_n."""
        value = self.state.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            return 0
        return max(0, min(value, self.last_n if last_n is None else last_n))

    def copy(self) -> "Transcript":
        """What it says so far, apart from what it will be fed later."""
        return replace(
            self,
            messages=list(self.messages),
            state=dict(self.state),
            superseded=list(self.superseded),
            anchors=list(self.anchors),
            goals=list(self.goals),
            bad=list(self.bad),
        )

    @property
    def shared(self) -> bool:
        """Whether the session's own metadata marks it as shared."""
        return self.metadata.get("shared") is True

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the callers said of the session: with its first message, and later."""
        later = self.state.get("metadata")
        first = self.header.metadata if self.header else {}
        return {**first, **later} if isinstance(later, Mapping) else first

    def message(self, n: int) -> Message | None:
        """The message of a number."""
        at = bisect_left(self.messages, n, key=lambda message: message.n)
        return self.messages[at] if at < len(self.messages) and self.messages[at].n == n else None

    @property
    def folded(self) -> Folded:
        """The summary of the folded messages."""
        return folding.parse(self.state.get("folded_summary"))

    def goals_at(self, n: int | None = None) -> list[Goal]:
        """Each goal in the state it had at message `n`, or has now; oldest first."""
        found: dict[str, Goal] = {}
        for goal in self.goals:
            if n is None or goal.n <= n:
                found[goal.id] = goal
        return list(found.values())

    def standing(self, after: int = 0, upto: int | None = None) -> list[Message]:
        """The messages with numbers above `after`, up to `upto`, that nobody edited or regenerated."""
        first = bisect_right(self.messages, after, key=lambda message: message.n)
        end = None if upto is None else bisect_right(self.messages, upto, key=lambda message: message.n)
        shown = self.messages[first:end]
        return [m for m in shown if not self.is_superseded(m.n)] if self.superseded else shown

    def is_superseded(self, n: int) -> bool:
        """Whether a client edited or regenerated the turn of message `n`."""
        return any(a <= n <= b for a, b in self.superseded)

    def has_superseded(self, sources: Sequence[str]) -> bool:
        """Whether all that these sources (`session_id#n`) name was edited away here; of none that is not so."""
        own = [source.partition("#") for source in sources]
        return bool(own) and all(
            session_id == self.session_id and n.isdecimal() and self.is_superseded(int(n)) for session_id, _, n in own
        )

    def feed(self, data: bytes, first_number: int = 1) -> "Transcript":
        """Take in some whole lines; returns self."""
        for line in jsonl.lines(data, first_number):
            if isinstance(line, jsonl.BadLine):
                self.bad.append(line)
            elif not self._take(line.record):
                self.bad.append(jsonl.BadLine(line.number, "not a line of a transcript", b""))
        return self

    def _take(self, record: dict[str, Any]) -> bool:
        kind = record.get("_type")
        if kind is None:
            return self._take_message(record)
        if kind == "session":
            self.header = self.header or parse_header(record)
        elif kind == "archive":
            self.archive = self.archive or record
        elif kind == "state":
            self._take_state(record)
        elif kind in ("superseded", "anchor", "goal"):
            self._take_mark(kind, record)
        elif kind == "closed":
            ended = record.get("ended_at")
            self.ended_at = ended if isinstance(ended, str) else self.updated_at
        elif kind == "plan":
            self.plan = parse_plan(record) or self.plan
        return isinstance(kind, str)

    def _take_mark(self, kind: str, record: dict[str, Any]) -> None:
        pair = record.get("n")
        if kind == "anchor" and (anchor := anchoring.parse(record)) is not None:
            self.anchors.append(anchor)
        elif kind == "goal" and (goal := goals.parse(record)) is not None:
            self.goals.append(goal)
        elif (
            kind == "superseded" and isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, int) for x in pair)
        ):
            self.superseded.append((pair[0], pair[1]))

    def _take_message(self, record: dict[str, Any]) -> bool:
        message = from_stored(record)
        if message is None or message.n <= self.last_n:
            return False
        self.messages.append(message)
        return True

    def _take_state(self, record: dict[str, Any]) -> None:
        fields = {k: v for k, v in record.items() if k not in ("_type", "session_id", "at")}
        for name in POINTERS:
            before, after = self.state.get(name), fields.get(name)
            if isinstance(before, int) and (not isinstance(after, int) or after < before):
                fields.pop(name, None)
        self.state.update(fields)


def parse_header(record: Mapping[str, Any]) -> Header | None:
    """The header on a line, or None where a field that must be a text is not."""
    texts = [record.get(name) for name in ("session_id", "key", "persona", "created_at")]
    metadata = record.get("metadata")
    session_id, key, persona, created_at = (t if isinstance(t, str) else "" for t in texts)
    if not session_id or not key:
        return None
    return Header(session_id, key, persona or "default", created_at, metadata if isinstance(metadata, Mapping) else {})


def parse_plan(record: Mapping[str, Any]) -> Plan | None:
    """The plan on a line, or None where it is not usable."""
    slug, path, status = (record.get(n) for n in ("slug", "transcript_path", "summary_status"))
    memory_path, note = record.get("memory_path"), record.get("note")
    if not (isinstance(slug, str) and isinstance(path, str) and isinstance(status, str)):
        return None
    return Plan(
        slug,
        path,
        memory_path if isinstance(memory_path, str) else None,
        status,
        note if isinstance(note, str) else None,
    )


def state_record(session_id: str, at: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A state line; it carries only the fields that changed."""
    return {"_type": "state", "session_id": session_id, "at": at, **fields}
