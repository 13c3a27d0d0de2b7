"""Experience as values: questions with their right answers, wrong answers beside right ones, and lessons.

Everything is an event, one line of a collection's file; the state is what the events say so far.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from letopis.model.text import normalise

AUTHORS = ("operator", "model", "import")
OUTCOMES = ("approved", "edited", "rejected")
# How often a case of such an author is right before anything is known of it: pseudo-counts of a
# Beta distribution (successes, failures).
PRIORS = {"operator": (8.0, 0.5), "import": (6.0, 1.0), "model": (2.0, 1.0)}


def confidence(successes: int, failures: int, author: str = "operator") -> float:
    """The mean of the Beta posterior: how probable it is that the answer is right where the case fits."""
    good, bad = PRIORS.get(author, PRIORS["model"])
    return (good + successes) / (good + bad + successes + failures)


@dataclass(slots=True)
class Case:
    """A question with its right answer; `wordings` are other ways in which it was asked.

    `replaced` are the answers that were right before, with the time until when. `ended` says why
    it is not suggested any more, and is empty while it is.
    """

    id: str
    collection: str
    question: str
    answer: str
    author: str
    created: str
    source: str = ""
    wordings: list[str] = field(default_factory=list)
    uses: int = 0
    successes: int = 0
    failures: int = 0
    valid_until: str = ""
    ended: str = ""
    replaced: list[tuple[str, str]] = field(default_factory=list)
    contested: set[str] = field(default_factory=set)

    @property
    def confidence(self) -> float:
        """How probable it is that the answer is right where the case fits."""
        return confidence(self.successes, self.failures, self.author)

    def stands(self, today: str) -> bool:
        """Whether it may be suggested on a day (YYYY-MM-DD)."""
        return not self.ended and (not self.valid_until or today <= self.valid_until)

    @property
    def asked(self) -> tuple[str, ...]:
        """Every way in which it was asked."""
        return (self.question, *self.wordings)

    def is_asked(self, question: str) -> bool:
        """Whether it has this very question, whatever its case and signs of spacing."""
        wanted = normalise(question).split()
        return any(normalise(wording).split() == wanted for wording in self.asked)

    def record(self) -> dict[str, Any]:
        """The case as tools and `--json` give it."""
        names = ("id", "collection", "question", "answer", "author", "created", "source", "uses", "successes")
        out: dict[str, Any] = {name: getattr(self, name) for name in (*names, "failures")}
        out |= {"confidence": round(self.confidence, 3), "wordings": list(self.wordings)}
        for name in ("valid_until", "ended"):
            out |= {name: getattr(self, name)} if getattr(self, name) else {}
        out |= {"replaced": [{"answer": a, "until": t} for a, t in self.replaced]} if self.replaced else {}
        return out | ({"contested": sorted(self.contested)} if self.contested else {})


@dataclass(slots=True)
class Antipattern:
    """A wrong answer to a question, why it is wrong, and the right one; `count`: how often it was given."""

    id: str
    collection: str
    question: str
    wrong: str
    right: str
    why: str
    by: str
    at: str
    wrong_case: str = ""
    right_case: str = ""
    source: str = ""
    count: int = 1

    def record(self) -> dict[str, Any]:
        """The antipattern as tools and `--json` give it."""
        names = ("id", "collection", "question", "wrong", "right", "why", "by", "at", "source", "count")
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Lesson:
    """A rule learnt from failures of one kind; `evidence` are the ids of their antipatterns."""

    id: str
    collection: str
    when: str
    do: str
    dont: str
    at: str
    by: str
    examples: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many failures it rests on."""
        return len(self.evidence)

    @property
    def confidence(self) -> float:
        """How surely it is a rule: it grows with the failures that it rests on."""
        return confidence(self.count, 0, "model")

    def record(self) -> dict[str, Any]:
        """The lesson as tools and `--json` give it."""
        out = {name: getattr(self, name) for name in ("id", "collection", "when", "do", "dont", "at", "by", "count")}
        return {**out, "confidence": round(self.confidence, 3), "examples": self.examples, "evidence": self.evidence}


@dataclass(slots=True)
class Suggested:
    """A suggestion as it was made, and what a person said of it; `outcome` is empty until then.

    `signals` are the figures that its confidence was made of; `right` tells whether the best case
    was the right one. One that was noticed in a chat carries the wrong answer as its `draft` and
    what the user said instead as `proposed`.
    """

    id: str
    collection: str
    at: str
    question: str
    draft: str
    cases: tuple[str, ...]
    confidence: float
    verdict: str
    signals: Mapping[str, float]
    source: str = ""
    proposed: str = ""
    outcome: str = ""
    reviewer: str = ""
    note: str = ""
    right: bool = False
    repeated: bool = False
    reviewed_at: str = ""

    @property
    def waits(self) -> bool:
        """Whether a person should look at it."""
        return not self.outcome and (self.verdict == "ask" or bool(self.proposed))

    def record(self) -> dict[str, Any]:
        """The suggestion as tools and `--json` give it."""
        names = ("id", "collection", "at", "question", "draft", "confidence", "verdict", "outcome", "reviewer")
        out = {name: getattr(self, name) for name in names}
        out |= {name: getattr(self, name) for name in ("proposed", "source", "note") if getattr(self, name)}
        return {**out, "cases": list(self.cases)}
