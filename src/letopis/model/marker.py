"""`SEARCH_HISTORY: words` in a model's reply: recognised, taken out and never shown.

It counts at the start of a line only, not inside code and not in a quotation. Text comes in
pieces of any size; what could still become a marker is held back.
"""

import re

MARKER = "SEARCH_HISTORY:"
_FENCES = ("```", "~~~")


class Markers:
    """Splits a reply, piece by piece, into what may be shown and the words that are asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._line = ""
        self._shown = 0
        self._fence = ""

    def take(self, piece: str) -> str:
        """The part of the reply that may be shown now."""
        out = ""
        for part in re.findall(r"[^\n]*\n|[^\n]+", piece):
            self._line += part
            if part.endswith("\n"):
                out += self._ended()
            else:
                out += self._so_far()
        return out

    def rest(self) -> str:
        """What is left to show at the end of the reply."""
        return self._ended() if self._line else ""

    def _so_far(self) -> str:
        """Of an unfinished line what can be no marker any more."""
        head = self._line.lstrip(" \t")
        if not self._fence and (MARKER.startswith(head) or head.startswith(MARKER)):
            return ""
        shown, self._shown = self._line[self._shown :], len(self._line)
        return shown

    def _ended(self) -> str:
        line, shown = self._line, self._shown
        self._line, self._shown = "", 0
        head = line.lstrip(" \t")
        if not self._fence and head.startswith(MARKER):
            words = head[len(MARKER) :].strip()
            if words:
                self.asked.append(words)
            return ""
        fence = next((f for f in _FENCES if head.startswith(f)), "")
        if fence and self._fence in ("", fence):
            self._fence = "" if self._fence else fence
        return line[shown:]
