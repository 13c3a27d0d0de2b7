"""The bank of experience: what the events of all collections say so far.

Lines are fed in order; a damaged or foreign line is counted and the others are read. A second
line with the id of a case, antipattern, lesson or suggestion changes nothing.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from letopis.model import jsonl
from letopis.model.cases import OUTCOMES, Antipattern, Case, Lesson, Suggested
from letopis.model.text import normalise

Record = Mapping[str, Any]


@dataclass(slots=True)
class Bank:
    """Everything known, by id. `asked` lists every wording with its case in the order in which they came."""

    names: dict[str, str] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    antipatterns: dict[str, Antipattern] = field(default_factory=dict)
    lessons: dict[str, Lesson] = field(default_factory=dict)
    suggested: dict[str, Suggested] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    counted: set[tuple[str, str]] = field(default_factory=set)
    bad: int = 0

    def feed(self, collection: str, data: bytes) -> None:
        """Take in some whole lines of a collection's file."""
        for line in jsonl.lines(data):
            if isinstance(line, jsonl.BadLine) or not self._take(collection, line.record):
                self.bad += 1

    def waiting(self) -> list[Suggested]:
        """What a person should look at, oldest first."""
        return [one for one in self.suggested.values() if one.waits]

    def standing(self, today: str) -> list[Case]:
        """The cases that may be suggested on a day."""
        return [case for case in self.cases.values() if case.stands(today)]

    def of_answer(self, answer: str) -> Case | None:
        """A case that is not ended and has this very answer."""
        wanted = normalise(answer).split()
        found = (c for c in self.cases.values() if not c.ended and normalise(c.answer).split() == wanted)
        return next(found, None)

    def _take(self, collection: str, record: Record) -> bool:
        kind = record.get("_type")
        take = _TAKERS.get(kind) if isinstance(kind, str) else None
        if take is None:
            return False
        try:
            take(self, collection, record)
        except (KeyError, TypeError, ValueError, OverflowError):
            return False
        return True


def texts_of(record: Record) -> list[tuple[str, str, str]]:
    """What of an event is searched: kind, role and text of each part."""
    fields = {
        "case": [("case", "user", "question"), ("case", "assistant", "answer")],
        "wording": [("case", "user", "question")],
        "answer": [("case", "assistant", "answer")],
    }.get(str(record.get("_type")), [])
    found = [(kind, role, _maybe(record, name)) for kind, role, name in fields]
    if record.get("_type") == "lesson":
        found.append(("lesson", "assistant", " — ".join(_maybe(record, name) for name in ("when", "do"))))
    return [part for part in found if part[2].strip()]


def _collection(bank: Bank, collection: str, record: Record) -> None:
    bank.names[collection] = _text(record, "name")


def _case(bank: Bank, collection: str, record: Record) -> None:
    id_, question = _text(record, "id"), _text(record, "question")
    if id_ in bank.cases:
        return
    made = Case(id_, collection, question, _text(record, "answer"), _text(record, "author"), _text(record, "at"))
    made.source, made.valid_until = _maybe(record, "source"), _maybe(record, "valid_until")
    bank.cases[id_] = made
    bank.asked.append((id_, question))


def _wording(bank: Bank, collection: str, record: Record) -> None:
    case, question = bank.cases[_text(record, "case")], _text(record, "question")
    if question != case.question and question not in case.wordings:
        case.wordings.append(question)
        bank.asked.append((case.id, question))


def _outcome(bank: Bank, collection: str, record: Record) -> None:
    case = bank.cases[_text(record, "case")]
    if _is_repeated(bank, case.id, record):
        return
    case.uses += 1
    good = record["good"] is True
    case.successes += good
    case.failures += not good


def _answer(bank: Bank, collection: str, record: Record) -> None:
    case = bank.cases[_text(record, "case")]
    case.replaced.append((case.answer, _text(record, "at")))
    case.answer, case.author = _text(record, "answer"), _text(record, "author")
    case.failures = 0
    case.valid_until = _maybe(record, "valid_until")
    _settle(bank, case)


def _ended(bank: Bank, collection: str, record: Record) -> None:
    case = bank.cases[_text(record, "case")]
    case.ended = _text(record, "why") or "ended"
    _settle(bank, case)


def _contested(bank: Bank, collection: str, record: Record) -> None:
    """One side of a contradiction; the other side has its own line, in its own collection."""
    case, other = bank.cases[_text(record, "case")], _text(record, "with")
    if record.get("decided") is True:
        case.contested.discard(other)
    else:
        case.contested.add(other)


def _settle(bank: Bank, case: Case) -> None:
    """A case whose answer was replaced, or that ended, contradicts nothing any more."""
    for other in case.contested & bank.cases.keys():
        bank.cases[other].contested.discard(case.id)
    case.contested.clear()


def _antipattern(bank: Bank, collection: str, record: Record) -> None:
    id_ = _text(record, "id")
    if id_ in bank.antipatterns or _is_repeated(bank, _text(record, "wrong"), record):
        return
    question, wrong, right, why, by, at = (
        _text(record, name) for name in ("question", "wrong", "right", "why", "by", "at")
    )
    cases = _maybe(record, "wrong_case"), _maybe(record, "right_case")
    bank.antipatterns[id_] = Antipattern(
        id_, collection, question, wrong, right, why, by, at, *cases, _maybe(record, "source")
    )


def _again(bank: Bank, collection: str, record: Record) -> None:
    known = bank.antipatterns[_text(record, "antipattern")]
    if not _is_repeated(bank, known.id, record):
        known.count += 1


def _is_repeated(bank: Bank, what: str, record: Record) -> bool:
    """Whether a review has counted this already: one that was interrupted and repeated counts once."""
    of = _maybe(record, "of")
    if not of:
        return False
    known = (what, of) in bank.counted
    bank.counted.add((what, of))
    return known


def _lesson(bank: Bank, collection: str, record: Record) -> None:
    """A later line of a lesson's id is its newest form."""
    id_ = _text(record, "id")
    when, do, dont, at, by = (_text(record, name) for name in ("when", "do", "dont", "at", "by"))
    examples, evidence = ([str(item) for item in record[name]] for name in ("examples", "evidence"))
    bank.lessons[id_] = Lesson(id_, collection, when, do, dont, at, by, examples, evidence)


def _suggested(bank: Bank, collection: str, record: Record) -> None:
    id_ = _text(record, "id")
    if id_ in bank.suggested:
        return
    signals = {str(k): _number(v) for k, v in dict(record["signals"]).items()}
    bank.suggested[id_] = Suggested(
        id_,
        collection,
        _text(record, "at"),
        _text(record, "question"),
        _text(record, "draft"),
        tuple(str(case) for case in record["cases"]),
        _number(record["confidence"]),
        _text(record, "verdict"),
        signals,
        _maybe(record, "source"),
        _maybe(record, "proposed"),
    )


def _reviewed(bank: Bank, collection: str, record: Record) -> None:
    one = bank.suggested[_text(record, "suggestion")]
    outcome = _text(record, "outcome")
    if one.outcome or outcome not in OUTCOMES:
        return
    one.outcome, one.reviewer, one.note = outcome, _text(record, "reviewer"), _maybe(record, "note")
    one.right, one.repeated = record.get("right") is True, record.get("repeated") is True
    one.reviewed_at = _text(record, "at")


def _maybe(record: Record, name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


def _text(record: Record, name: str) -> str:
    value = record[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


_TAKERS: dict[str, Callable[[Bank, str, Record], None]] = {
    "collection": _collection,
    "case": _case,
    "wording": _wording,
    "outcome": _outcome,
    "answer": _answer,
    "ended": _ended,
    "contested": _contested,
    "antipattern": _antipattern,
    "again": _again,
    "lesson": _lesson,
    "suggested": _suggested,
    "reviewed": _reviewed,
}
