"""The terms that text is indexed and asked by: one normaliser for both.

Stems by script; an identifier counts whole and in parts; a run of unsegmented script counts by
pairs of characters; an emoji is a term of its own. Terms hold only letters and digits, so any
tokenizer leaves them whole.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from letopis.model.text import STOP_WORDS, normalise, stem

VERSION = "2"
_JOIN = "ꞏ"
_CHUNK = re.compile(r"[^\W_]+(?:[-_.@/:+'’&#][^\W_]+)*[+#]*|[^\w\s]", re.UNICODE)
_GROUPED = re.compile(r"\b\d{1,3}(?:[ \u00a0\u202f,]\d{3})+\b")
_PART = re.compile(r"[^\W_]+", re.UNICODE)
_UNSEGMENTED = re.compile(r"[぀-ヿ㐀-鿿가-힯ก-๿]+")
_APOSTROPHE = re.compile(r"(?<=[a-z])['’](?:s|t|re|ve|ll|d|m)\b")


def terms(text: str) -> list[str]:
    """Every term of a text, in order, repeated as often as it stands."""
    return list(_terms(text, keep_stop_words=True))


def highlighted(text: str, matched: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a word that a search matched."""
    wanted, end = set(matched), 0
    for word in _PART.finditer(text):
        if wanted.intersection(terms(word[0])):
            yield text[end : word.start()], False
            yield word[0], True
            end = word.end()
    yield text[end:], False


def asked(text: str) -> list[str]:
    """The terms of a question that count in ranking: stop words only where there is nothing else."""
    meant = list(dict.fromkeys(_terms(text, keep_stop_words=False)))
    return meant or list(dict.fromkeys(_terms(text, keep_stop_words=True)))


def _terms(text: str, keep_stop_words: bool) -> Iterator[str]:
    folded = normalise(text)
    yield from (re.sub(r"\D", "", match[0]) for match in _GROUPED.finditer(folded))
    for match in _CHUNK.finditer(folded):
        chunk = match[0]
        if not chunk[0].isalnum():
            if unicodedata.category(chunk) == "So":
                yield f"emoji{_JOIN}{ord(chunk):x}"
            continue
        parts = _PART.findall(_APOSTROPHE.sub("", chunk))
        for part in parts:
            if _UNSEGMENTED.search(part):
                yield from _pairs(part)
            elif keep_stop_words or part not in STOP_WORDS:
                yield stem(part)
        if len(parts) > 1 or chunk[-1] in "+#":
            yield _JOIN.join([*parts, *(f"{ord(c):x}" for c in chunk if c in "+#")])


def _pairs(part: str) -> Iterator[str]:
    """Pairs of neighbouring characters of an unsegmented run; other characters as a word."""
    at = 0
    for run in _UNSEGMENTED.finditer(part):
        if run.start() > at:
            yield stem(part[at : run.start()])
        characters = run[0]
        if len(characters) == 1:
            yield characters
        yield from (characters[i : i + 2] for i in range(len(characters) - 1))
        at = run.end()
    if at < len(part):
        yield stem(part[at:])
