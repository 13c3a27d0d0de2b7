"""The live conversation as the model sees it: whole turns, newest last, within a budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from letopis.model import tokens, turns
from letopis.model.messages import text_of
from letopis.model.text import printable, shorten
from letopis.model.transcript import Transcript
from letopis.model.turns import Turn

_SMALLEST = 200


@dataclass(frozen=True, slots=True)
class History:
    """The messages shown, how many turns of the session are left out, and whether one was cut."""

    messages: list[dict[str, Any]]
    tokens: int
    turns_left_out: int
    cut: str = ""


def windowed(transcript: Transcript, budget: int) -> History:
    """The longest run of whole turns, from the newest back, that fits the budget.

    The newest turn is always there; if it alone is too large its longest texts are cut, visibly.
    """
    told = [m for m in transcript.messages if not m.internal and not transcript.is_superseded(m.n)]
    every = turns.split(told)
    if not every:
        return History([], 0, 0)
    newest = _shaped(every[-1], keep_images=True)
    newest, cut = _within(newest, budget)
    left = budget - tokens.of_messages(newest)
    chosen = [newest]
    for turn in reversed(every[:-1]):
        shaped = _shaped(turn, keep_images=False)
        left -= tokens.of_messages(shaped)
        if left < 0:
            break
        chosen.append(shaped)
    messages = [message for turn in reversed(chosen) for message in turn]
    return History(messages, tokens.of_messages(messages), len(every) - len(chosen), cut)


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
