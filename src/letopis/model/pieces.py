"""Long text cut into pieces that are small enough to be compared with a question."""

import re
from collections.abc import Iterator

from letopis.model.text import safe_cut

PIECE_CHARACTERS = 600
_SEAMS = (
    re.compile(r"(?<=\n)\s*\n"),  # paragraphs
    re.compile(r"(?<=\n)"),  # lines
    re.compile(r"(?<=[.!?…])\s+(?=\S)"),  # sentences
    re.compile(r"(?<=\s)"),  # words
)


def split(text: str, limit: int = PIECE_CHARACTERS) -> list[str]:
    """The pieces of a text, each at most `limit` characters, cut at the best seams there are.

    Together they hold every visible character of the text, in order.
    """
    return [piece for piece in _packed(_parts(text, limit, 0), limit) if piece.strip()]


def _parts(text: str, limit: int, level: int) -> Iterator[str]:
    if len(text) <= limit:
        yield text
    elif level < len(_SEAMS):
        start = 0
        for seam in _SEAMS[level].finditer(text):
            if seam.end() > start:
                yield from _parts(text[start : seam.end()], limit, level + 1)
                start = seam.end()
        yield from _parts(text[start:], limit, level + 1)
    else:
        while len(text) > limit:
            end = safe_cut(text, limit)
            yield text[:end]
            text = text[end:]
        yield text


def _packed(parts: Iterator[str], limit: int) -> Iterator[str]:
    held = ""
    for part in parts:
        if held and len(held) + len(part) > limit:
            yield held.strip()
            held = ""
        held += part
    yield held.strip()
