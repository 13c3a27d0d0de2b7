"""A Markdown note cut into the blocks that a search shows: paragraphs and list items."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^\s{0,3}(?:[-*+]|\d+[.)])\s+\S")
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)

_DATED = re.compile(r"<!-- f:[0-9a-f]{8} (\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True, slots=True)
class Block:
    """Text, its first and last line (from 1), the headings above it, and a fact's date."""

    text: str
    first: int
    last: int
    heading: str
    date: str = ""


def split(text: str) -> Iterator[Block]:
    """The blocks of a note; comments are not text, a heading without text is a block itself."""
    headings: list[tuple[int, str]] = []
    held: list[str] = []
    start, fence = 0, ""

    def flush(last: int) -> Iterator[Block]:
        raw = "\n".join(held)
        body, dated = _COMMENT.sub("", raw).strip(), _DATED.search(raw)
        held.clear()
        if body:
            heading = " › ".join(title for _, title in headings)
            yield Block(body, start, last, heading, dated[1] if dated else "")

    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        opened = _FENCE.match(line)
        heading = None if fence else _HEADING.match(line)
        if heading or (not fence and (not line.strip() or _ITEM.match(line))):
            yield from flush(number - 1)
        if heading:
            level = len(heading[1])
            headings = [*(h for h in headings if h[0] < level), (level, heading[2])]
            held.append(heading[2])
            start = number
            yield from flush(number)
            continue
        if opened:
            fence = "" if fence == opened[1] else fence or opened[1]
        if line.strip() or fence:
            start = start if held else number
            held.append(line)
    yield from flush(number)
