"""How many tokens a text costs, by class of character; no tokenizer is needed.

The weights are fitted to a common tokenizer: within a few percent on Russian, English, code.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

IMAGE_TOKENS = 800
MESSAGE_OVERHEAD = 4
_SHORT = 4_000
_CLASSES = (
    (re.compile(r"[A-Za-z]"), 0.30),
    (re.compile(r"[Ѐ-ӿ]"), 0.33),
    (re.compile(r"[0-9]"), 0.5),
    (re.compile(r"[\n\r]"), 0.3),
    (re.compile(r"[!-/:-@\[-`{-~]"), 0.5),
    (re.compile(r"[^\x00-\x7fЀ-ӿ]"), 1.1),
)


def weigh(text: str) -> float:
    """Tokens of a text, not rounded: the sum over parts is that of the whole."""
    if len(text) <= _SHORT:
        return _remembered(text)
    return sum(_remembered(text[at : at + _SHORT]) for at in range(0, len(text), _SHORT))


@lru_cache(maxsize=8_192)
def _remembered(text: str) -> float:
    """The same for a short text; what stands in prompt after prompt is weighed once."""
    return sum(len(pattern.findall(text)) * weight for pattern, weight in _CLASSES)


def estimate(text: str) -> int:
    """Tokens of a text, rounded up."""
    return int(weigh(text)) + 1 if text else 0


def of_content(content: object) -> int:
    """Tokens of a message's content: text, or a list of parts with images."""
    if isinstance(content, str):
        return estimate(content)
    if isinstance(content, list):
        return sum(_of_part(part) for part in content)
    return 0


def _of_part(part: object) -> int:
    if isinstance(part, Mapping):
        text = part.get("text")
        return estimate(text) if isinstance(text, str) else IMAGE_TOKENS
    return estimate(part) if isinstance(part, str) else 0


def of_message(message: Mapping[str, Any]) -> int:
    """Tokens of one chat message as it is sent, tool calls included."""
    rest = {name: value for name, value in message.items() if name not in ("role", "content")}
    extra = estimate(json.dumps(rest, ensure_ascii=False)) if rest else 0
    return MESSAGE_OVERHEAD + of_content(message.get("content")) + extra


def of_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """Tokens of a list of chat messages."""
    return sum(of_message(message) for message in messages)
