"""A conversation that goes on from a closed one: what a client resends for it begins there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from letopis.errors import SessionNotFound, Unreadable
from letopis.model import resent
from letopis.model.resent import Seen
from letopis.model.transcript import Transcript
from letopis.store import Store

_LOOKED_AT = 3


def seen_of(store: Store, transcript: Transcript) -> list[Seen]:
    """What a client sends again for a session: that of the closed one which it continues, then its own.

    A closed one that was deleted, or cannot be read, is as if nothing had been said in it.
    """
    own = resent.stored(transcript)
    continued = transcript.metadata.get("continues")
    if isinstance(continued, Mapping) and isinstance(continued.get("session_id"), str):
        try:
            before = seen_of(store, store.sessions.transcript(str(continued["session_id"])))
        except (SessionNotFound, Unreadable):
            return own
        count, numbers = continued.get("messages"), continued.get("numbers")
        shown = before[: count if isinstance(count, int) else 0]
        if isinstance(numbers, list):
            shown = [one for one in before if one.n in numbers]
        own = [replace(one, n=0, follows=None) for one in shown] + own
    return own


def closed_of(store: Store, key: str, sent: list[Seen]) -> str:
    """The closed session of a key whose words are sent again; "" where there is none."""
    for line in [line for line in store.sessions.all() if line.key == key][:_LOOKED_AT]:
        try:
            if resent.common(seen_of(store, store.sessions.transcript(line.session_id)), sent):
                return line.session_id
        except (SessionNotFound, Unreadable):
            continue
    return ""


def going_on(store: Store, session_id: str, sent: list[Seen]) -> tuple[int, dict[str, Any]]:
    """How many of the sent messages stand in a closed session already, and what its successor is told of that."""
    if not session_id:
        return 0, {}
    before = seen_of(store, store.sessions.transcript(session_id))
    found = resent.aligned(before, sent[:-1])  # the last message is asked anew
    count = len(found.path) if not found.before and found.path[:1] == (0,) else 0
    if not count:
        return 0, {}
    told: dict[str, Any] = {"session_id": session_id, "messages": count}
    if found.path != tuple(range(count)):  # two chats stand there, one between the other
        told["numbers"] = [before[at].n for at in found.path]
    return count, {"continues": told}
