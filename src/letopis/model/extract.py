"""What matters of a conversation, taken without a model: whole sentences, as they were said.

A sentence counts for the decisions, preferences, figures, dates and names in it. Code, quotations
and secrets are left out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from letopis.model import secrets
from letopis.model.explicit import without_quotes
from letopis.model.messages import Message
from letopis.model.text import content_stems, normalise, one_line

Kind = Literal["decided", "facts", "open", "files", "other"]
LONGEST = 240
LEAST = 0.75
PASTED = 20_000  # of one message; what goes on longer was pasted
LOOKED_AT = 1_000  # of one sentence; a longer one is no sentence
_SENTENCE = re.compile(r"[^\n.!?]+(?:[.!?](?=\S| [a-zа-яё])[^\n.!?]+)*[.!?]*")
_DECIDED = re.compile(
    r"\b(?:decid\w+|agree\w*|we(?:'ll| will)|prefer\w*|always|never|must|from now on|instead|remember|important"
    r"|priority|реш\w+|договор\w+|будем|предпочита\w+|всегда|никогда|должн\w+|отныне|вместо|запомни\w*|важн\w+|приоритет\w*"
    r"|любл\w+|ненави\w+|нельзя|нужно)\b"
)
_FIGURE = re.compile(r"\d")
_FILE = re.compile(
    r"\b[\w./-]+\.(?:py|md|toml|json|jsonl|js|ts|txt|csv|ya?ml|sql|pdf|docx?|xlsx?|png|jpe?g|go|rs|java)\b"
)
_NAME = re.compile(r"(?<=[a-zа-яё,] )[A-ZА-ЯЁ][\w-]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of message `n`, what it is, and how much it matters."""

    text: str
    n: int
    kind: Kind
    weight: float


def sentences(messages: Iterable[Message]) -> list[Sentence]:
    """The sentences of what people and the assistant said that matter at all, in order."""
    out = []
    for message in messages:
        if message.spoken:
            for match in _SENTENCE.finditer(without_quotes(secrets.without(message.text[:PASTED]))):
                text = one_line(match[0][:LOOKED_AT]).replace("\u2060", "").strip(" -*#>")
                kind, weight = _weighed(text, message.role)
                if weight >= LEAST and len(content_stems(text)) > 1 and not secrets.holds_secret(text):
                    out.append(Sentence(text[:LONGEST].rstrip(), message.n, kind, weight))
    return out


def _weighed(text: str, role: str) -> tuple[Kind, float]:
    folded = normalise(text)
    own = 0.5 if role == "user" else 0.0
    if text.endswith("?"):
        return "open", 1.0 if role == "user" and len(text) > 15 else 0.0
    weight = own
    kind: Kind = "other"
    if _FILE.search(text):
        kind, weight = "files", weight + 1
    if _FIGURE.search(text):
        kind, weight = "facts", weight + 2
    if _DECIDED.search(folded):
        kind, weight = "decided", weight + 2
    weight += 0.5 * min(3, len(_NAME.findall(text)))
    return kind, weight


def best(found: Sequence[Sentence], count: int) -> list[Sentence]:
    """The weightiest sentences, newest first among equals, told once, in the order they were said."""
    unique: dict[str, Sentence] = {}
    for sentence in found:
        unique[" ".join(content_stems(sentence.text))] = sentence
    chosen = sorted(unique.values(), key=lambda s: (-s.weight, -s.n))[:count]
    return sorted(chosen, key=lambda s: s.n)
