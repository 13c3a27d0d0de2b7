"""Secrets in text: found by shape, masked by a typed mark in everything that is derived.

The live transcript stays exact; a mask is never taken back as if it were the value.
"""

import re
from collections.abc import Iterator

_VALUE = r"(?!\[(?:hidden|скрыто):)[^\s'\"«»<>,;]{6,}"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)),
    ("token", re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}")),
    ("token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")),
    ("token", re.compile(r"\b(?:glpat-|xox[abprs]-)[A-Za-z0-9-]{10,}")),
    ("token", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("token", re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}")),
    ("token", re.compile(r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b")),
    ("token", re.compile(r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{12,})")),
    ("token", re.compile(r"(?i)\bauthorization:\s*basic\s+([A-Za-z0-9+/=]{8,})")),
    ("token", re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    ("token", re.compile(r"(?i)\b(?:token|токен)\w*\s*[:=]\s*['\"]?([A-Za-z0-9._-]{16,})")),
    ("password", re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://[^\s:/@]+:([^\s:/@]{3,})@")),
    (
        "password",
        re.compile(
            r"(?i)(?:\b|_)(?:password|passwd|pwd|passphrase|secret(?:[_ -]?(?:access)?[_ -]?key)?|api[_ -]?key"
            r"|access[_ -]?token|auth[_ -]?token|парол[а-яё]{1,3}|секретн\w+ ключ\w*|ключ api|пин-?код)['\"]?"
            r"(?:\s+is)?\s*(?:[:=]|\bis\b|—|-{1,2})\s*['\"«]?(" + _VALUE + ")"
        ),
    ),
)
_NAMED = re.compile(
    r"(?i)(?<!hidden:)(?<!скрыто:)\b(?:password|passwd|passphrase|pin(?:[ -]?code)?|secret"
    r"|парол[а-яё]{1,3}|пин(?:-?код)?\w*)\b(?:\s+[\w-]{1,20}){0,4}?\s*[:=—-]?\s*['\"«]?"
    r"(?P<value>(?=[^\s]*\d)[^\s'\"«»<>,;.]{4,})"
)
_CARD = re.compile(r"\b\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}\b")
_MASK = re.compile(r"\*{3,}|\[(?:скрыто|hidden):[a-z]+#\d+\]|•{3,}")


def find(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each secret, in order, none overlapping."""
    shaped = [
        (match.start(match.lastindex or 0), match.end(match.lastindex or 0), kind)
        for kind, pattern in _PATTERNS
        for match in pattern.finditer(text)
    ]
    named = [(*match.span("value"), "password") for match in _NAMED.finditer(text) if not holds_mask(match[0])]
    cards = [(*match.span(), "card") for match in _CARD.finditer(text)]
    spans = sorted([*shaped, *named, *cards])
    end_of_last = -1
    for start, end, kind in spans:
        if start >= end_of_last:
            yield kind, start, end
            end_of_last = end


def redact(text: str, cyrillic: bool = False) -> str:
    """The text with every secret behind a typed mark, such as `[hidden:token#1]`."""
    out, at = [], 0
    for count, (kind, start, end) in enumerate(find(text), 1):
        out += [text[at:start], f"[{'скрыто' if cyrillic else 'hidden'}:{kind}#{count}]"]
        at = end
    return "".join([*out, text[at:]])


def without(text: str) -> str:
    """The text with its secrets left out altogether."""
    out, at = [], 0
    for _, start, end in find(text):
        out.append(text[at:start])
        at = end
    return " ".join([*out, text[at:]])


def holds_secret(text: str) -> bool:
    """Whether anything in the text has the shape of a secret."""
    return next(find(text), None) is not None


def holds_mask(text: str) -> bool:
    """Whether the text holds a mask in place of a value."""
    return _MASK.search(text) is not None
