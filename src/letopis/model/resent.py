"""Compares a history that a client sends again with what is stored: only what is new is new.

What counts is what the client has seen: not the memory's own calls and their results, nor first
passes; text that came before a call of the memory belongs to the answer that followed. Blanks
never count, for what is streamed and what is stored differ in them. Several histories may share a
session (two chats of one user): each message follows the one that the client had seen before it.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from letopis.model.messages import text_of, valid_calls
from letopis.model.transcript import Transcript

_MARKED = 40  # an answer may have been cut by the client, so its beginning tells it
FOLLOWS = "follows"  # in a stored message: the number of the one that its client had seen last, 0 for none


@dataclass(frozen=True, slots=True)
class Seen:
    """A message as the client knows it; `n` is its number in the session, 0 for one that is sent.

    `other` tells what is no text (images, files) from another; `follows` is the number of the
    message before it in its own history, None where that is simply the one before.
    """

    n: int
    role: str
    text: str
    calls: tuple[str, ...] = ()
    cut: bool = False
    other: str = ""
    follows: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Aligned:
    """The places of the known messages that what is sent begins with, and those that it replaces (`gone`).

    `before` counts messages at the beginning of what is sent that are not known any more.
    """

    path: tuple[int, ...] = ()
    gone: tuple[Seen, ...] = ()
    before: int = 0

    @property
    def start(self) -> int:
        """How many of the sent messages are not new."""
        return self.before + len(self.path)

    @property
    def last(self) -> int:
        """The place of the last of them, -1 for none."""
        return self.path[-1] if self.path else -1


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
        cut, follows = message.stored.get("interrupted") is True, message.stored.get(FOLLOWS)
        other = _other(message.stored.get("content"))
        mark = follows if isinstance(follows, int) else None
        found.append(Seen(message.n, _role(message.role), _squeezed(text), calls, cut, other, mark))
    return found


def sent(messages: Iterable[Mapping[str, Any]]) -> list[Seen]:
    """The same of messages that a client sends; system messages are its own matter."""
    found = []
    for wire in messages:
        calls = tuple(str(c.get("id")) for c in wire.get("tool_calls") or () if isinstance(c, Mapping))
        text = _squeezed(text_of(wire.get("content")))
        found.append(Seen(0, _role(str(wire.get("role"))), text, calls, other=_other(wire.get("content"))))
    return found


def _role(role: str) -> str:
    return "tool" if role == "function" else role


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _other(content: object) -> str:
    """What tells the parts that are no text; empty where there are none."""
    parts = [p for p in content if not (isinstance(p, Mapping) and text_of(p))] if isinstance(content, list) else []
    if not parts:
        return ""
    told = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def common(left: Sequence[Seen], right: Sequence[Seen]) -> int:
    """With how many messages both begin."""
    count = 0
    for a, b in zip(left, right, strict=False):
        if not _same(a, b):
            break
        count += 1
    return count


def aligned(known: Sequence[Seen], sent: Sequence[Seen]) -> Aligned:
    """How much of what is sent is known, and what of the known it replaces.

    A client may resend everything, or only the end of it. Nothing that holds no answer is taken for a
    history, but the only question of a conversation asked again.
    """
    if not any(one.role == "assistant" for one in sent):
        return _without_answers(known, sent)
    history = _History(known)
    best: list[int] = []
    for at in range(len(known)):
        path = history.path(at, sent) if _same(known[at], sent[0]) else []
        answers = any(known[one].role == "assistant" for one in path)
        if path and (answers or path[-1] == len(known) - 1) and len(path) >= len(best):
            best = path
        if (at == 0 and len(path) == len(sent)) or len(known) - at <= len(best):
            break  # none that begins later can be longer
    if not best:
        return _without_beginning(history, known, sent)
    return _asked_again(known, sent, Aligned(tuple(best), history.replaced(best[-1])))


def _without_beginning(history: "_History", known: Sequence[Seen], sent: Sequence[Seen]) -> Aligned:
    """What is known of a history whose beginning was deleted: all of it stands in what is sent, further on."""
    for before in range(1, len(sent)):
        path = history.path(0, sent[before:]) if known and _same(known[0], sent[before]) else []
        if len(path) > 1 and len(path) + sum(one.follows is not None for one in known) >= len(known):
            return Aligned(tuple(path), history.replaced(path[-1]), before)
    return Aligned()


def _asked_again(known: Sequence[Seen], sent: Sequence[Seen], found: Aligned) -> Aligned:
    """A question asked again is answered where it stands; one behind which another chat went on is told anew."""
    behind = known[found.last + 1 :]
    others = any(one.role == "user" and one not in found.gone for one in behind)
    if found.start < len(sent) or sent[-1].role != "user" or not others:
        return found
    return Aligned(found.path[:-1], (known[found.last], *found.gone), found.before)


def follows(known: Sequence[Seen], found: Aligned) -> int | None:
    """What the first new message follows, where that is not simply the last that stands."""
    standing = len(known) - len(found.gone)
    if not standing or (found.last == standing - 1 and known[found.last].n):
        return None
    return known[found.last].n if found.last >= 0 else 0


def _without_answers(known: Sequence[Seen], sent: Sequence[Seen]) -> Aligned:
    """What is asked without a history: the only question asked again, what waits for an answer, or something new."""
    count = common(known, sent)
    if count == len(sent) and sum(one.role == "user" for one in known) == 1:
        return Aligned(tuple(range(count)), _History(known).replaced(count - 1))
    waiting = len(known) - len(sent)
    if waiting >= 0 and known[waiting:] and common(known[waiting:], sent) == len(sent):
        return Aligned(tuple(range(waiting, len(known))))
    return Aligned()


class _History:
    """What is known, with the message that each one follows."""

    def __init__(self, known: Sequence[Seen]) -> None:
        self._known = known
        self._before: list[int] = []
        self._after: dict[int, list[int]] = {}
        if all(one.follows is None for one in known):
            return  # one follows the other, and nothing need be looked up
        places = {one.n: at for at, one in enumerate(known) if one.n}
        self._before = [
            at - 1 if one.follows is None else places.get(one.follows, at - 1) if one.follows else -1
            for at, one in enumerate(known)
        ]
        for at, before in enumerate(self._before):
            self._after.setdefault(before, []).append(at)

    def path(self, at: int, sent: Sequence[Seen]) -> list[int]:
        """The places of the known messages that what is sent goes through, from the one at `at` on.

        A client may have changed the words of an answer; where the whole history is sent and goes on as
        it went, that is the same answer.
        """
        found = [at]
        for number, one in enumerate(sent[1:], 1):
            after = self._next(found[-1])
            next_ = next((a for a in reversed(after) if _same(self._known[a], one)), None)
            if next_ is None and self._begins(at) and one.role == "assistant":
                rest = sent[number + 1 : number + 2]
                next_ = next((a for a in reversed(after) if self._is_retold(a, rest)), None)
            if next_ is None:
                break
            found.append(next_)
        return found

    def _begins(self, at: int) -> bool:
        return self._before[at] == -1 if self._before else at == 0

    def _next(self, at: int) -> list[int]:
        """What may come after a message: what followed it, and what stands behind it (some send only what is new)."""
        if not self._before:
            return [at + 1] if at + 1 < len(self._known) else []
        after = self._after.get(at, [])
        return after if at + 1 in after or at + 1 == len(self._known) else [*after, at + 1]

    def _is_retold(self, at: int, rest: Sequence[Seen]) -> bool:
        """Whether an answer is told in other words: it is one, and what came after it is what is sent after it."""
        if self._known[at].role != "assistant" or not rest:
            return False
        after = [self._known[a] for a in self._next(at)]
        return not after or any(_same(one, rest[0]) for one in after)

    def replaced(self, last: int) -> tuple[Seen, ...]:
        """What followed the message at `last`, and all that followed that."""
        if not self._before:
            return tuple(self._known[last + 1 :])
        gone: set[int] = set()
        for at in range(last + 1, len(self._known)):
            if self._before[at] == last or self._before[at] in gone:
                gone.add(at)
        return tuple(self._known[at] for at in sorted(gone))


def _same(left: Seen, right: Seen) -> bool:
    if left.role != right.role or left.calls != right.calls or left.other != right.other:
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
        digest.update(f"{one.role}\0{text}\0{one.other}\0".encode("utf-8", "replace"))
        if one.role == "assistant":
            found.append(digest.hexdigest()[:24])
    return found
