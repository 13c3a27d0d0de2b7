"""How a desk does over time: who was needed, what was wrong, what was wrong again, and what is covered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from letopis.model.bank import Bank
from letopis.model.cases import Suggested

BARS = "▁▂▃▄▅▆▇█"
_LATELY, _FEWEST = 100, 5


@dataclass(frozen=True, slots=True)
class Period:
    """Some questions in a row: from the day of the first to that of the last, with shares of 0 to 1."""

    first: str
    last: str
    questions: int
    asked: float
    wrong: float
    repeated: float

    def record(self) -> dict[str, Any]:
        """The period as `--json` gives it."""
        shares = {"needed_person": self.asked, "wrong": self.wrong, "repeated_mistakes": self.repeated}
        rounded = {name: round(value, 4) for name, value in shares.items()}
        return {"first": self.first, "last": self.last, "questions": self.questions, **rounded}


@dataclass(frozen=True, slots=True)
class Covered:
    """One collection: its cases and lessons, and the share of its newest questions that needed nobody."""

    name: str
    cases: int
    lessons: int
    questions: int
    share: float

    def record(self) -> dict[str, Any]:
        """The collection as `--json` gives it."""
        own = {"collection": self.name, "cases": self.cases, "lessons": self.lessons}
        return {**own, "questions": self.questions, "covered": round(self.share, 4)}


def periods(bank: Bank, count: int = 20) -> list[Period]:
    """All questions that were kept, in at most so many periods of equal size, oldest first."""
    asked = [one for one in bank.suggested.values() if not one.proposed]
    size = max(_FEWEST, -(-len(asked) // count))
    return [_period(asked[start : start + size]) for start in range(0, len(asked), size)]


def _period(own: Sequence[Suggested]) -> Period:
    wrong = [one for one in own if one.verdict == "answer" and one.outcome in ("edited", "rejected")]
    needed = sum(one.verdict == "ask" for one in own)
    repeated = sum(one.repeated for one in wrong)
    shares = (needed / len(own), len(wrong) / len(own), repeated / len(own))
    return Period(own[0].at[:10], own[-1].at[:10], len(own), *shares)


def coverage(bank: Bank, today: str) -> list[Covered]:
    """Every collection by its own name, the largest first."""
    out = []
    for slug in sorted(bank.names.keys() | {c.collection for c in bank.cases.values()}):
        cases = sum(case.collection == slug and case.stands(today) for case in bank.cases.values())
        lessons = sum(lesson.collection == slug for lesson in bank.lessons.values())
        own = [one for one in bank.suggested.values() if one.collection == slug and not one.proposed][-_LATELY:]
        share = sum(one.verdict == "answer" for one in own) / len(own) if own else 0.0
        out.append(Covered(bank.names.get(slug, slug), cases, lessons, len(own), share))
    return sorted(out, key=lambda one: -one.cases)


def bars(values: Sequence[float]) -> str:
    """Shares of 0 to 1 as a row of bars for a terminal."""
    return "".join(BARS[min(len(BARS) - 1, int(value * len(BARS)))] for value in values)


def svg(found: Sequence[Period]) -> str:
    """The shares as lines of an SVG picture that needs nothing else: it names its own colours and fonts."""
    width, height, left, top = 640, 240, 44, 16
    lines = (("needed a person", "#2563eb", [p.asked for p in found]), ("wrong", "#d97706", [p.wrong for p in found]),
             ("repeated mistakes", "#dc2626", [p.repeated for p in found]))  # fmt: skip
    step = width / max(1, len(found) - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 80} {height + 70}" role="img" '
        'aria-label="Share of questions over time" font-family="sans-serif" font-size="12">'
    ]
    for tenth in range(0, 11, 2):
        y = top + height - height * tenth / 10
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#9ca3af55"/>')
        parts.append(f'<text x="4" y="{y + 4:.1f}" fill="#6b7280">{tenth * 10} %</text>')
    for at, (name, colour, values) in enumerate(lines):
        points = " ".join(f"{left + n * step:.1f},{top + height * (1 - v):.1f}" for n, v in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + at * 180}" y="{height + 56}" fill="{colour}">{name}</text>')
    if found:
        ends = ((left, "start", found[0].first), (left + width, "end", found[-1].last))
        parts += [
            f'<text x="{x}" y="{height + 34}" text-anchor="{a}" fill="#6b7280">{day}</text>' for x, a, day in ends
        ]
    return "\n".join([*parts, "</svg>"])
