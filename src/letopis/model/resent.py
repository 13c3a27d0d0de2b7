"""Compares a history that a client sends again with what is stored: only what is new is new.

What counts is what the client has seen: not the memory's own calls and their results, nor first
passes; text that came before a call of the memory belongs to the answer that followed.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from letopis.model.messages import text_of, valid_calls
from letopis.model.transcript import Transcript

_MARKED = 60  # an answer may have been cut by the client, so its beginning tells it


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as the client knows it; `n` is its number in the session, 0 for one that is sent."""

    n: int
    role: str
    text: str
    calls: tuple[str, ...] = ()
    cut: bool = False


def stored(transcript: Transcript, after: int = 0) -> list[Seen]:
    """What a client has seen of a session after message `after`, edited and regenerated turns left out."""
    found: list[Seen] = []
    before = ""
    for message in transcript.standing(after):
        if message.internal or message.service:
            continue
        hidden = message.stored.get("unseen_calls")
        unseen = set(hidden) if isinstance(hidden, list) else set()
        calls = tuple(call["id"] for call in valid_calls(message) if call["id"] not in unseen)
        if message.stored.get("unseen") is True:
            before += message.text if message.role == "assistant" else ""
            continue
        text = before + message.text if message.role == "assistant" else message.text
        before = "" if message.role in ("assistant", "user") else before
        cut = message.stored.get("interrupted") is True
        found.append(Seen(message.n, _role(message.role), text.strip(), calls, cut))
    return found


def sent(messages: Iterable[Mapping[str, Any]]) -> list[Seen]:
    """The same of messages that a client sends; system messages are its own matter."""
    found = []
    for wire in messages:
        calls = tuple(str(c.get("id")) for c in wire.get("tool_calls") or () if isinstance(c, Mapping))
        found.append(Seen(0, _role(str(wire.get("role"))), text_of(wire.get("content")).strip(), calls))
    return found


def _role(role: str) -> str:
    return "tool" if role == "function" else role


def common(left: Sequence[Seen], right: Sequence[Seen]) -> int:
    """With how many messages both begin."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if not _same(a, b):
            break
        count += 1
    return count


def aligned(known: Sequence[Seen], sent: Sequence[Seen]) -> tuple[int, int]:
    """Where in what is known the sent messages begin, and how many agree from there.

    A client may resend everything, or only the end of it. Nothing that holds no answer is taken for a
    history, but the only question of a conversation asked again.
    """
    if not any(one.role == "assistant" for one in sent):
        asked = sum(one.role == "user" for one in known)
        count = common(known, sent)
        if count == len(sent) and asked == 1:
            return 0, count
        waiting = len(known) - len(sent)
        whole = waiting >= 0 and known[waiting:] and common(known[waiting:], sent) == len(sent)
        return (waiting, len(sent)) if whole else (len(known), 0)
    best = (len(known), 0)
    for at in range(len(known)):
        count = common(known[at : at + len(sent)], sent) if _same(known[at], sent[0]) else 0
        answers = any(one.role == "assistant" for one in sent[:count])
        if count and (answers or at + count == len(known)) and count >= best[1]:
            best = (at, count)
        if at == 0 and count == len(sent):
            break
    return best


def _same(left: Seen, right: Seen) -> bool:
    if left.role != right.role or left.calls != right.calls:
        return False
    if left.text == right.text:
        return True
    either_cut = left.cut or right.cut
    return either_cut and (left.text.startswith(right.text) or right.text.startswith(left.text))


def marks(seen: Sequence[Seen]) -> list[str]:
    """After each answer a mark of all that was said until then: two histories with one mark begin alike."""
    digest = hashlib.sha256()
    found = []
    for one in seen:
        text = one.text[:_MARKED] if one.role == "assistant" else one.text
        digest.update(f"{one.role}\0{text}\0".encode("utf-8", "replace"))
        if one.role == "assistant":
            found.append(digest.hexdigest()[:24])
    return found
