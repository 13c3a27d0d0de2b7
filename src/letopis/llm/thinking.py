"""Takes the thoughts of a reasoning model out of its answer, whole or streamed.

A thought opens at the start of a line and is never shown or kept; an answer that was nothing
but thought is empty.
"""

import re

_TAGS = ("think", "thinking", "reasoning", "thought")
_NAMES = "|".join(_TAGS)
_BLOCK = re.compile(rf"^[ \t]*<({_NAMES})>.*?(?:</\1>[ \t]*\n?|\Z)", re.DOTALL | re.IGNORECASE | re.MULTILINE)
_TAIL_OF_BLOCK = re.compile(rf"\A(?:(?!<(?:{_NAMES})>).)*?</(?:{_NAMES})>[ \t]*(?:\n\s*|\Z)", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(rf"[ \t]*<({_NAMES})>", re.IGNORECASE)
_LONGEST_TAG = max(len(tag) for tag in _TAGS) + 3


def stripped(text: str) -> str:
    """The answer without thoughts; a closing tag whose opening the server swallowed counts too."""
    if "</" in text or "<" in text:
        text = _TAIL_OF_BLOCK.sub("", _BLOCK.sub("", text), count=1)
    return text.strip()


class Filter:
    """Lets through what may be shown of a stream, holding back what may become a tag."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._at_line_start = True
        self._closed = False
        self._shown = False

    def feed(self, piece: str) -> str:
        """The part of all text so far that is now sure to be visible."""
        self._held += piece
        out = ""
        while self._held:
            step = self._inside() if self._closing else self._outside()
            if step is None:
                break
            out += step
        return self._without_first_blanks(out)

    def rest(self) -> str:
        """What was held back at the end of the stream; an unfinished thought is dropped."""
        held, self._held = ("" if self._closing else self._held), ""
        return self._without_first_blanks(held)

    def _without_first_blanks(self, text: str) -> str:
        text = text if self._shown else text.lstrip()
        self._shown = self._shown or bool(text)
        return text

    def _inside(self) -> str | None:
        at = self._held.lower().find(self._closing)
        if at < 0:
            self._held = self._held[-len(self._closing) :]
            return None
        self._held = self._held[at + len(self._closing) :]
        self._closing, self._at_line_start, self._closed = "", True, True
        return ""

    def _outside(self) -> str | None:
        if self._closed:
            self._held = self._held.lstrip(" \t")
            if not self._held:
                return None
            self._held, self._closed = self._held.removeprefix("\n"), False
            return ""
        if self._at_line_start:
            opened = _OPEN.match(self._held)
            if opened:
                self._closing = f"</{opened[1].lower()}>"
                self._held = self._held[opened.end() :]
                return ""
            bare = self._held.lstrip(" \t")
            if len(bare) < _LONGEST_TAG and (not bare or self._may_open(bare)):
                return None
        end = self._held.find("\n") + 1
        out, self._held = (self._held[:end], self._held[end:]) if end else (self._held, "")
        self._at_line_start = end > 0
        return out

    @staticmethod
    def _may_open(text: str) -> bool:
        return any(f"<{tag}>".startswith(text.lower()) for tag in _TAGS)
