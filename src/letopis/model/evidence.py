"""Evidence for a question that one look-up cannot answer: the ways to ask, what was found, what disagrees.

Nothing is concluded here: quotes stand as they were said, each with its source.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from letopis.model import anchoring, dates, figures
from letopis.model.text import content_stems, negated, one_line, overlap, shorten, stem, words

MOST_WAYS = 10
LONGEST_QUOTE, LONGEST_QUESTION = 600, 1_000
_JOINED_BY = re.compile(r"(?i)[?;\n]+|,\s+(?=а |но |and |but )|\s(?:а также|и|или|and|or|versus|vs\.?)\s(?=.)")
_QUOTED = re.compile(r'"([^"]{3,})"|«([^»]{3,})»|“([^”]{3,})”')
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-ZА-ЯЁ][\w-]+(?:\s+[A-ZА-ЯЁ][\w-]+)*")
_FEWEST = 2
_RANK_OFFSET = 60
_SAME = 0.6
_ASKING = frozenset(
    content_stems("сколько почему зачем куда откуда насколько how many much long often tell know скажи расскажи")
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_INSTEAD_OF = re.compile(r"(?i)\b(?:а не|not|вместо|instead of|rather than|было|was)\s+\S{0,3}\d[\d\s.,]*")


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask the memory; with days, only what is dated between them answers."""

    text: str
    why: str
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """What a source says, and by which ways it was found."""

    source: str
    date: str
    kind: str
    text: str
    ways: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The quote as tools and `--json` give it."""
        found = {"source": self.source, "date": self.date, "kind": self.kind, "text": self.text}
        return {**found, "found_by": list(self.ways)}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Statements of one thing that cannot all hold, oldest first."""

    about: str
    statements: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Pack:
    """All of it. `missing` are the words of the question that no quote holds."""

    question: str
    ways: tuple[Way, ...]
    quotes: tuple[Quote, ...]
    missing: tuple[str, ...]
    contradictions: tuple[Contradiction, ...]
    problems: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The pack as tools and `--json` give it."""
        out: dict[str, Any] = {"status": "ok" if self.quotes else "empty", "question": self.question}
        out["asked"] = [{"query": way.text, "why": way.why} for way in self.ways]
        out["quotes"] = [quote.record() for quote in self.quotes]
        out["missing"] = list(self.missing)
        out["contradictions"] = [
            {"about": c.about, "statements": [q.record() for q in c.statements]} for c in self.contradictions
        ]
        return out | ({"problems": list(self.problems)} if self.problems else {})


def ways(question: str, more: Iterable[str] = ()) -> list[Way]:
    """The question itself, its parts, what it quotes, the names in it, and `more` in other words."""
    question = question[:LONGEST_QUESTION]
    bare = one_line(question)
    found = [Way(bare, "the question")]
    parts = [part.strip(" ,.!?") for part in _JOINED_BY.split(question)]
    found += [Way(p, "a part of it") for p in parts if len(set(content_stems(p))) >= _FEWEST]
    found += [Way(f'"{next(filter(None, g))}"', "quoted in it") for g in _QUOTED.findall(question)]
    found += [Way(m[0], "a name in it") for m in _NAME.finditer(bare)]
    found += [Way(one_line(text), "in other words") for text in more if content_stems(text)]
    days = sorted(day.isoformat() for day in dates.mentioned(question, None))
    if days:
        found.append(Way(bare, "the days it names", days[0], days[-1]))
    unique = {(way.text.casefold(), way.since): way for way in reversed(found)}
    return [way for way in found if unique.get((way.text.casefold(), way.since)) is way][:MOST_WAYS]


def merged(found: Mapping[str, Sequence[Quote]], most: int) -> list[Quote]:
    """The quotes of all ways, each once, those first that stand high in many."""
    scores: dict[str, float] = {}
    first: dict[str, Quote] = {}
    by: dict[str, list[str]] = {}
    for way, quotes in found.items():
        for rank, quote in enumerate(quotes):
            scores[quote.source] = scores.get(quote.source, 0.0) + 1 / (_RANK_OFFSET + rank)
            first.setdefault(quote.source, quote)
            by.setdefault(quote.source, []).append(way)
    best = sorted(first, key=lambda source: -scores[source])[:most]
    return [
        Quote(q.source, q.date, q.kind, shorten(q.text, LONGEST_QUOTE), tuple(dict.fromkeys(by[q.source])))
        for q in (first[source] for source in best)
    ]


def only_asks(text: str, question: str) -> bool:
    """Whether a text is the same question asked before: no evidence for an answer."""
    return text.rstrip().endswith("?") and overlap(content_stems(text), content_stems(question)) >= _SAME / 2


def missing(question: str, quotes: Iterable[Quote]) -> list[str]:
    """The words of the question, as they were written, that carry meaning and stand in no quote."""
    held = {s for quote in quotes for s in content_stems(quote.text)}
    asked = set(content_stems(question)) - _ASKING
    return [word for word in dict.fromkeys(words(question)) if stem(word) in asked and stem(word) not in held]


def contradictions(question: str, quotes: Sequence[Quote]) -> list[Contradiction]:
    """Where what the question asks of is told with different figures, or both affirmed and denied."""
    asked = set(content_stems(question))
    told = [
        Quote(q.source, q.date, q.kind, one_line(sentence))
        for q in sorted(quotes, key=lambda q: (q.date, q.source))
        for sentence in _SENTENCE.split(q.text)
        if asked & set(content_stems(sentence))
    ]
    groups: list[list[Quote]] = []
    for statement in told:
        home = next((g for g in groups if _one_thing(g[0].text, statement.text)), None)
        if home is None:
            groups.append([statement])
        elif all(one_line(other.text) != statement.text for other in home):
            home.append(statement)
    found = (group for group in groups if len(group) > 1 and _disagree([q.text for q in group]))
    return [Contradiction(" ".join(sorted(anchoring.subject(group[0].text))), tuple(group)) for group in found]


def _one_thing(left: str, right: str) -> bool:
    a, b = anchoring.subject(left), anchoring.subject(right)
    return len(a & b) >= _FEWEST and overlap(a, b) >= _SAME


def _disagree(statements: Sequence[str]) -> bool:
    numbers = [figures.meant(_INSTEAD_OF.sub(" ", text)) for text in statements]
    shown = [n for n in numbers if n]
    differing = any(a - b and b - a for at, a in enumerate(shown) for b in shown[at + 1 :])
    return differing or len({negated(text) for text in statements}) > 1
