"""Conversations that people already have, as other programs wrote them, read into messages.

Nothing is invented: a bad line is named by its number and the rest comes in.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from letopis.errors import SourceUnreadable
from letopis.model import jsonl
from letopis.model.messages import ROLES

_TIMES = ("timestamp", "created_at", "create_time", "created", "date", "time")


@dataclass(slots=True)
class SourceMessage:
    """A message of a source and when it was said, if the source knows."""

    wire: dict[str, Any]
    said_at: datetime | None


@dataclass(slots=True)
class Conversation:
    """One conversation of a source. A `keyed` one is the same wherever its file lies."""

    name: str
    key: str
    created_at: datetime | None = None
    messages: list[SourceMessage] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    keyed: bool = False


def openai(data: bytes, name: str, zone: Any) -> list[Conversation]:
    """JSONL or JSON of chat messages, or of objects that hold `messages`."""
    text = data.decode("utf-8-sig", "surrogateescape").strip()
    if text[:1] == "[" or (text[:1] == "{" and "\n" in text and _whole(text) is not None):
        whole = _whole(text)
        if whole is None:
            raise SourceUnreadable(f"{name} begins like JSON but is not: mend it, or give one message a line")
        records = list(enumerate(whole if isinstance(whole, list) else [whole], 1))
        return _gather(name, records, [], zone, "item")
    records, problems = _lines(data)
    return _gather(name, records, problems, zone, "line")


def nanobot(data: bytes, name: str, zone: Any) -> list[Conversation]:
    """A session file whose first line is `{"_type": "metadata", …}`, with or without `key`."""
    records, problems = _lines(data)
    head = records[0][1] if records else None
    if not isinstance(head, Mapping) or head.get("_type") != "metadata":
        raise SourceUnreadable(f"{name} is not a session file: its first line is no metadata object")
    key = head.get("key") if isinstance(head.get("key"), str) and head["key"].strip() else None
    made = Conversation(key or name, key or name.replace("_", ":", 1), _moment(head.get("created_at"), zone))
    made.problems, made.keyed = problems, key is not None
    for number, record in records[1:]:
        _take(made, record, f"line {number}", zone)
    return [made]


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines(data: bytes) -> tuple[list[tuple[int, Any]], list[str]]:
    records: list[tuple[int, Any]] = []
    problems: list[str] = []
    for line in jsonl.lines(data.removeprefix(b"\xef\xbb\xbf")):
        if isinstance(line, jsonl.BadLine):
            problems.append(f"line {line.number}: {line.reason}")
        else:
            records.append((line.number, line.record))
    return records, problems


def _gather(name: str, records: list[tuple[int, Any]], problems: list[str], zone: Any, unit: str) -> list[Conversation]:
    """Loose messages make one conversation; each object with `messages` is one of its own."""
    loose = Conversation(name, f"import:{name}", problems=problems)
    found: list[Conversation] = []
    for number, record in records:
        if isinstance(record, Mapping) and isinstance(record.get("messages"), list):
            own = record.get("id") or record.get("conversation_id") or record.get("title")
            label = f"{name}#{own if isinstance(own, str | int) else number}"
            made = Conversation(label, f"import:{label}", _moment(_time_of(record), zone))
            for at, message in enumerate(record["messages"], 1):
                _take(made, message, f"{unit} {number}, message {at}", zone)
            found.append(made)
        else:
            _take(loose, record, f"{unit} {number}", zone)
    return [c for c in (loose, *found) if c.messages or c.problems]


def _take(conversation: Conversation, record: Any, where: str, zone: Any) -> None:
    if not isinstance(record, Mapping) or record.get("role") not in ROLES:
        role = record.get("role") if isinstance(record, Mapping) else type(record).__name__
        conversation.problems.append(f"{where}: not a chat message (role {role!r})")
        return
    conversation.messages.append(SourceMessage(dict(record), _moment(_time_of(record), zone)))


def _time_of(record: Mapping[str, Any]) -> Any:
    return next((record[name] for name in _TIMES if record.get(name) not in (None, "")), None)


def _moment(value: Any, zone: Any) -> datetime | None:
    """A time as sources write it: ISO 8601 with or without offset, or seconds since 1970."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > 10**11 else value
            return datetime.fromtimestamp(seconds, UTC).astimezone(zone)
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
            return moment.replace(tzinfo=zone) if moment.tzinfo is None and zone else moment.astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def fingerprint(wire: Mapping[str, Any]) -> str:
    """What makes two messages of one source the same message."""
    return json.dumps(wire, sort_keys=True, ensure_ascii=True, default=str)


def unseen(messages: list[SourceMessage], known: Iterator[Mapping[str, Any]]) -> list[SourceMessage]:
    """The messages of a source that were not imported yet; a repeated one counts as often as it stands."""
    counts: dict[str, int] = {}
    for wire in known:
        print_ = fingerprint(wire)
        counts[print_] = counts.get(print_, 0) + 1
    new: list[SourceMessage] = []
    for message in messages:
        print_ = fingerprint(message.wire)
        if counts.get(print_, 0):
            counts[print_] -= 1
        else:
            new.append(message)
    return new
