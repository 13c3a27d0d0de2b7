"""The live conversation as the model sees it: whole turns, newest last, within a budget."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from letopis.model import tokens, turns
from letopis.model.messages import Message, text_of
from letopis.model.text import printable, shorten
from letopis.model.transcript import Transcript
from letopis.model.turns import Turn

_SMALLEST = 200
_REMEMBERED = 4_000  # characters


@dataclass(frozen=True, slots=True)
class History:
    """The messages shown, how many turns of the session are left out, and whether one was cut."""

    messages: list[dict[str, Any]]
    tokens: int
    turns_left_out: int
    cut: str = ""


def windowed(transcript: Transcript, budget: int, after: int = 0) -> History:
    """Whole turns after message `after`, to the newest, as many of the newest as fit the budget.

    The newest turn is always there; if it alone is too large its longest texts are cut, visibly.
    Where not all fit, the head stays for many turns at the same place, so that prompts share it.
    """
    first = bisect_right(transcript.messages, after, key=lambda message: message.n)
    chosen: list[list[dict[str, Any]]] = []
    starts: list[int] = []
    sizes: list[int] = []
    left, cut, at = budget, "", len(transcript.messages)
    while at > first:
        start = _turn_start(transcript.messages, first, at)
        turn = _told(transcript, start, at)
        at = start
        if not turn:
            continue
        if chosen:
            shaped, size = _older(tuple(turn))
        else:
            shaped, cut = _within(_shaped(tuple(turn), keep_images=True), budget)
            size = tokens.of_messages(shaped)
        left -= size
        if left < 0 and chosen:
            break
        chosen.append(shaped)
        starts.append(turn[0].n)
        sizes.append(size)
    else:
        return _history(chosen, sum(sizes), 0, cut)
    keep = _steady(starts)
    left_out = len(turns.split(_told(transcript, first, at))) + 1 + len(chosen) - keep
    return _history(chosen[:keep], sum(sizes[:keep]), left_out, cut)


def _history(chosen: Sequence[list[dict[str, Any]]], size: int, left_out: int, cut: str) -> History:
    messages = [dict(message) for turn in reversed(chosen) for message in turn]
    return History(messages, size, left_out, cut)


def _turn_start(messages: Sequence[Message], first: int, end: int) -> int:
    """Where the turn begins whose last message stands before `end`."""
    at = end - 1
    while at > first and not turns.begins(messages[at]):
        at -= 1
    return at


def _told(transcript: Transcript, start: int, end: int) -> list[Message]:
    """The messages of a stretch that the model may see."""
    superseded = transcript.superseded
    shown = (m for m in transcript.messages[start:end] if not m.internal)
    return [m for m in shown if not superseded or not transcript.is_superseded(m.n)]


def _steady(starts: Sequence[int]) -> int:
    """How many of the turns that fit, given by their first messages, newest first, are kept.

    The head moves in strides: to the first turn at or after a multiple of a stride, which is a
    power of two of about a third of the messages that fit.
    """
    stride = 1 << max(0, ((starts[0] - starts[-1]) // 3).bit_length() - 1)
    head = -(-starts[-1] // stride) * stride
    return max(1, sum(start >= head for start in starts))


class _Same:
    """A turn that equals only itself: what is made of one is kept for the prompts after it."""

    __slots__ = ("turn",)

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.turn)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or len(other.turn) != len(self.turn):
            return False
        return all(one is another for one, another in zip(self.turn, other.turn, strict=True))


def _older(turn: Turn) -> tuple[list[dict[str, Any]], int]:
    """A turn before the newest as it is sent, and its tokens; that of a short one is kept."""
    short = all(isinstance(content := m.stored.get("content"), str) and len(content) < _REMEMBERED for m in turn)
    return _made_once(_Same(turn)) if short else _made(turn)


@lru_cache(maxsize=2_048)
def _made_once(same: _Same) -> tuple[list[dict[str, Any]], int]:
    return _made(same.turn)


def _made(turn: Turn) -> tuple[list[dict[str, Any]], int]:
    shaped = _shaped(turn, keep_images=False)
    return shaped, tokens.of_messages(shaped)


def _shaped(turn: Turn, keep_images: bool) -> list[dict[str, Any]]:
    return [_plain(message, keep_images) for message in turns.for_provider(turn)]


def _plain(message: dict[str, Any], keep_images: bool) -> dict[str, Any]:
    """Text that UTF-8 can hold; images of older turns are named and not sent again."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": printable(content)}
    parts = []
    for part in content:
        text = part.get("text") if isinstance(part, Mapping) else None
        if isinstance(text, str):
            parts.append({**part, "text": printable(text)})
        elif keep_images:
            parts.append(part)
        else:
            kind = part.get("type", "part") if isinstance(part, Mapping) else "part"
            parts.append({"type": "text", "text": f"[{kind} sent earlier; not shown again]"})
    return {**message, "content": parts}


def _within(messages: Sequence[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], str]:
    """The messages with their longest texts shortened until they fit."""
    out = list(messages)
    if tokens.of_messages(out) <= budget:
        return out, ""
    cut = 0
    while (over := tokens.of_messages(out) - budget) > 0:
        at = max(range(len(out)), key=lambda i: tokens.of_message(out[i]))
        text = text_of(out[at]["content"])
        shown = _shortened(text, tokens.of_message(out[at]), over)
        cut += len(text) - len(shown)
        if len(shown) >= len(text) or len(text) <= _SMALLEST:
            return _last_resort(out, budget), f"{cut} characters of the newest turn are not shown"
        mark = f"\n[cut: {len(text) - len(shown)} more characters]"
        out[at] = {**out[at], "content": shown + mark}
    return out, f"{cut} characters of the newest turn are not shown"


def _shortened(text: str, size: int, over: int) -> str:
    share = max(0.0, (size - over - 30) / size)
    return shorten(text, max(_SMALLEST // 2, int(len(text) * share * 0.95)), "")


def _last_resort(messages: list[dict[str, Any]], budget: int) -> list[dict[str, Any]]:
    """What answers the user stays out; of the user's own message the text stays, cut to fit."""
    first = next((m for m in messages if m["role"] == "user"), messages[-1])
    text = text_of(first["content"])
    while text and tokens.of_message({**first, "content": text}) > budget:
        text = shorten(text, len(text) * 2 // 3, "")
    return [{"role": first["role"] if first["role"] != "tool" else "user", "content": text or "[cut]"}]
