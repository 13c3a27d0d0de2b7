"""Which sessions are meant by filters, by an id, or by a key."""

from collections.abc import Mapping
from typing import Any

from letopis.errors import SessionNotFound
from letopis.model.messages import Message, valid_calls
from letopis.model.session import SessionLine
from letopis.model.text import shorten
from letopis.model.transcript import Transcript
from letopis.store import Store

FILTERS = ("session_id", "key", "slug", "memory_path", "transcript_path")


def listed(store: Store, filters: Mapping[str, str | None], within: str | None = None) -> list[SessionLine]:
    """The sessions that fit, newest first; `within` is the key a shared conversation is held to."""
    found = store.sessions.all()
    for name in FILTERS:
        wanted = filters.get(name)
        if wanted:
            found = [s for s in found if _fits(name, wanted, getattr(s, name))]
    return [s for s in found if within is None or s.key == within]


def _fits(name: str, wanted: str, value: str | None) -> bool:
    return wanted in (value or "") if name == "slug" else value == wanted


def meant(store: Store, session_id: str | None, key: str | None, within: str | None) -> SessionLine:
    """The session meant by an id, or the live or newest one under a key. Raises SessionNotFound."""
    if session_id:
        line = store.sessions.get(session_id)
        if within in (None, line.key):
            return line
        raise SessionNotFound(f"there is no session {session_id!r} in this conversation")
    lines = listed(store, {}, within)
    lines.sort(key=lambda line: line.state != "live")
    for line in lines:
        if key in (None, line.key):
            return line
    what = f"no session under the key {key!r}" if key else "no session yet"
    raise SessionNotFound(f"there is {what}; `letopis sessions list` shows those there are")


def record_of(message: Message, transcript: Transcript, longest: int | None = None) -> dict[str, Any]:
    """A message as it is read back; a cut is marked with how much is left out."""
    text = message.text
    if longest is not None and len(text) > longest:
        text = shorten(text, longest, "") + f" … [cut: {len(text) - longest} more characters]"
    out: dict[str, Any] = {"n": message.n, "role": message.role, "timestamp": message.timestamp, "text": text}
    calls = [call["function"] for call in valid_calls(message)]
    if calls:
        out["tool_calls"] = calls
    if transcript.is_superseded(message.n):
        out["superseded"] = True
    return out
