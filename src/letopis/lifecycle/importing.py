"""Brings conversations of other programs in as archived sessions, and never twice."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from letopis.errors import InvalidInput, SourceUnreadable, Unreadable
from letopis.model import jsonl, names, sources
from letopis.model.messages import from_stored, to_stored
from letopis.model.session import SessionLine
from letopis.model.sources import Conversation, SourceMessage
from letopis.model.summary import slug_of
from letopis.store import Store, files

Timed = tuple[dict[str, Any], datetime]
READERS: dict[str, Callable[[bytes, str, Any], list[Conversation]]] = {
    "openai": sources.openai,
    "nanobot": sources.nanobot,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one conversation: the session made, if any, and what was left out."""

    source: str
    line: SessionLine | None
    added: int
    known: int
    problems: tuple[str, ...]


def files_of(kind: str, path: Path) -> list[Path]:
    """The files meant by a path: itself, or the session files of a folder."""
    if path.is_dir():
        found = sorted(p for p in path.rglob("*.jsonl") if not p.name.startswith("."))
        if not found:
            raise SourceUnreadable(f"there is no .jsonl file in {path}")
        return found
    return [path]


def import_file(store: Store, kind: str, path: Path) -> list[Outcome]:
    """Import the conversations of one file. Raises SourceUnreadable where it is of another kind."""
    try:
        data = files.read(path)
    except Unreadable as error:
        raise SourceUnreadable(str(error)) from None
    if data is None:
        raise SourceUnreadable(f"there is no file {path}")
    zone = store.clock.now().tzinfo
    modified = datetime.fromtimestamp(path.stat().st_mtime, zone)
    found = READERS[kind](data, path.stem, zone)
    if not any(c.messages or c.problems for c in found):
        return [Outcome(path.stem, None, 0, 0, ("there are no messages in it",))]
    place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    with store.imported.locked():
        return [_bring_in(store, kind, conversation, place, modified) for conversation in found]


def _bring_in(store: Store, kind: str, conversation: Conversation, place: str, modified: datetime) -> Outcome:
    name, problems = conversation.name, list(conversation.problems)
    own = {"kind": kind, "name": name, "place": "" if conversation.keyed else place}
    before = store.imported.sessions(own)
    new = sources.unseen(conversation.messages, store.imported.messages(before))
    known = len(conversation.messages) - len(new)
    if not before and _is_elsewhere(store, kind, conversation):
        new, known = [], len(conversation.messages)
    if not new:
        return Outcome(name, None, 0, known, tuple(problems))
    metadata: dict[str, Any] = {"import": own}
    fallback = conversation.created_at or modified
    if before:
        metadata["continues"] = before[0].session_id
        fallback = datetime.fromisoformat(before[-1].updated_at)
    storable = _storable(_timed(new, fallback), problems)
    if not storable:
        return Outcome(name, None, 0, known, tuple(problems))
    stored = (from_stored(to_stored(wire, n, names.stamp(at))) for n, (wire, at) in enumerate(storable, 1))
    slug = slug_of(None, [m for m in stored if m is not None])
    key = conversation.key[: names.MAX_KEY_CHARACTERS]
    line = store.imported.add(key, storable, metadata, slug)
    return Outcome(name, line, len(storable), known, tuple(problems))


def _is_elsewhere(store: Store, kind: str, conversation: Conversation) -> bool:
    """Whether just this conversation was imported from another place, as from a copy of the file."""
    groups: dict[str, list[SessionLine]] = {}
    for line in store.imported.sessions({"kind": kind, "name": conversation.name}):
        groups.setdefault(str(line.metadata["import"].get("place")), []).append(line)
    for lines in groups.values():
        messages = list(store.imported.messages(lines))
        same_length = len(messages) == len(conversation.messages)
        if same_length and not sources.unseen(conversation.messages, iter(messages)):
            return True
    return False


def _storable(messages: list[Timed], problems: list[str]) -> list[Timed]:
    """The messages that can stand in a transcript; the others are named."""
    out = []
    for number, (wire, at) in enumerate(messages, 1):
        try:
            jsonl.encode(to_stored(wire, number, names.stamp(at)))
            out.append((wire, at))
        except InvalidInput as error:
            problems.append(f"message {number}: {error}")
    return out


def _timed(messages: list[SourceMessage], fallback: datetime) -> list[Timed]:
    """Each message with its own time; one without has the time of the one before it."""
    out: list[Timed] = []
    last = next((m.said_at for m in messages if m.said_at is not None), fallback)
    for message in messages:
        last = max(last, message.said_at) if message.said_at is not None else last
        out.append((message.wire, last))
    return out
