"""Finds what was said in one session by its words: every word first, then any of them, newest first.

The keyword index is asked, so the time does not grow with the session; where it cannot be used,
the transcript itself is read, with the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from letopis.errors import SearchError
from letopis.index import Index
from letopis.model import secrets, terms, tokens
from letopis.model.messages import Message
from letopis.model.text import normalise, shorten
from letopis.model.transcript import Transcript
from letopis.store import Store

MOST = 40
_LONGEST = 900
_AROUND = 1


@dataclass(frozen=True, slots=True)
class Line:
    """What message `n` says about the words."""

    source: str
    role: str
    timestamp: str
    text: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found: `every` tells whether each line's message holds all the words; `total` counts the messages."""

    words: str
    lines: tuple[Line, ...]
    total: int
    every: bool

    def text(self) -> str:
        """The answer as a model reads it."""
        if not self.lines:
            return f"Nothing in this conversation holds {self.words!r}."
        lead = "" if self.every else "No message holds all of these words; these hold some of them.\n"
        found = "\n".join(f"[{line.source} {line.timestamp[:16]} {line.role}] {line.text}" for line in self.lines)
        more = f"\n({self.total - len(self.lines)} more messages)" if self.total > len(self.lines) else ""
        return f"{lead}{found}{more}"


def look_up(store: Store, index: Index, session_id: str, words: str, budget: int, before: int) -> Looked:
    """Look for the words in the messages of a session before number `before`, within a budget of tokens."""
    transcript = store.sessions.transcript(session_id)
    asked = list(dict.fromkeys(terms.asked(words)))
    held = _held(index, transcript, asked, before) if asked else {}
    held = {n: count for n, count in held.items() if not transcript.is_superseded(n)}
    whole = [n for n, count in held.items() if count == len(asked)]
    numbers = sorted(whole or held, key=lambda n: (-held[n], -n))
    if not numbers:
        numbers = _letter_for_letter(index, transcript, words.split(), before)
        return _answered(transcript, words, asked, numbers, True, budget)
    return _answered(transcript, words, asked, _exactly(transcript, words, numbers), bool(whole), budget)


def _held(index: Index, transcript: Transcript, asked: Sequence[str], before: int) -> dict[int, int]:
    """How many of the words each message holds, by number."""
    try:
        found = index.said(transcript.session_id, asked, before)
    except SearchError:
        found = None
    return _read(transcript, asked, before) if found is None else found


def _read(transcript: Transcript, asked: Sequence[str], before: int) -> dict[int, int]:
    """The same from the transcript itself."""
    wanted = set(asked)
    counts = {}
    for message in transcript.messages:
        if message.n < before and message.searched:
            held = len(wanted.intersection(terms.terms(message.text)))
            if held:
                counts[message.n] = held
    return counts


def _letter_for_letter(index: Index, transcript: Transcript, parts: Sequence[str], before: int) -> list[int]:
    """The messages that hold every part inside their text, be it the half of a word or a sign; newest first."""
    if not parts:
        return []
    found = None
    if transcript.ended_at is None:
        try:
            found = index.holding(transcript.session_id, parts, before)
        except SearchError:
            pass  # the transcript gives the same answer
    if found is None:
        wanted = [normalise(part) for part in parts]
        said = [m for m in transcript.standing(upto=before - 1) if m.searched]
        found = [m.n for m in reversed(said) if all(part in normalise(m.text) for part in wanted)]
    return found


def _exactly(transcript: Transcript, words: str, numbers: list[int]) -> list[int]:
    """Messages that hold a word with its signs ("100%", "a_b") before those that hold its letters only."""
    signed = [w for w in normalise(words).split() if any(not c.isalnum() for c in w.strip('.,;:!?«»"()'))]
    signed = [w.strip('.,;:!?«»"()') for w in signed]
    if not signed:
        return numbers
    texts = {n: normalise(m.text) for n in numbers if (m := transcript.message(n)) is not None}
    return sorted(numbers, key=lambda n: not all(w in texts.get(n, "") for w in signed))


def _answered(
    transcript: Transcript, words: str, asked: Sequence[str], numbers: Sequence[int], every: bool, budget: int
) -> Looked:
    lines: list[Line] = []
    for n in numbers[:MOST]:
        message = transcript.message(n)
        if message is None:
            continue
        text = secrets.redact(_excerpt(message, set(asked)))
        budget -= tokens.estimate(text) + 20
        if budget < 0 and lines:
            break
        lines.append(Line(f"#{n}", message.role, message.timestamp, text))
    return Looked(words, tuple(lines), len(numbers), every)


def _excerpt(message: Message, asked: set[str]) -> str:
    """The lines of a message that hold most of the words, with those around them; a short message is whole."""
    text = message.text.strip()
    if len(text) <= _LONGEST:
        return text
    rows = text.splitlines()
    held = {at: len(asked.intersection(terms.terms(row))) for at, row in enumerate(rows)}
    shown: set[int] = set()
    for at in sorted(held, key=lambda at: (-held[at], at)):
        near = {n for n in range(at - _AROUND, at + _AROUND + 1) if 0 <= n < len(rows)} | shown
        if not held[at] or (sum(len(rows[n]) for n in near) > _LONGEST and shown):
            break
        shown = near
    return shorten("\n".join(rows[at] for at in sorted(shown)) or text, _LONGEST)
