"""What a person says of a suggestion, and what is learnt from it.

Approved: the case is stronger and knows one more wording. Edited: the case was meant, and its
answer is this now; the old one stays readable. Rejected: another answer is right; the wrong one
becomes an antipattern, and failures of one kind gather into one lesson.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from letopis.errors import InvalidInput
from letopis.experience.add import contested, is_same_answer
from letopis.experience.desk import GENERAL, Desk, new_id
from letopis.experience.lessons import gathered
from letopis.experience.suggest import ANSWER, BELIEVED
from letopis.llm import ChatModel
from letopis.model import secrets
from letopis.model.bank import Bank
from letopis.model.cases import OUTCOMES, Antipattern, Case, Lesson, Suggested
from letopis.model.text import content_stems

Events = list[tuple[str, Mapping[str, Any]]]
_TELLING = 3


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What came of a review: the case that has the right answer now, and the lesson where there is one."""

    outcome: str
    case: Case | None
    lesson: Lesson | None
    repeated: bool


def review(
    desk: Desk,
    suggestion: str,
    outcome: str,
    right_answer: str = "",
    note: str = "",
    reviewer: str = "operator",
    model: ChatModel | None = None,
) -> Reviewed:
    """Take in what a person says of a suggestion. Raises InvalidInput."""
    if outcome not in OUTCOMES:
        raise InvalidInput(f"a review is one of {', '.join(OUTCOMES)}, not {outcome!r}")
    if secrets.holds_secret(right_answer) or secrets.holds_secret(note):
        raise InvalidInput("the review holds a password, key or token, which are never kept as experience")
    with desk.store.experience.changing() as bank:
        one = bank.suggested.get(suggestion)
        if one is None:
            raise InvalidInput(f"there is no suggestion {suggestion!r}; `letopis experience review` shows what waits")
        if one.outcome:
            raise InvalidInput(f"suggestion {suggestion} was {one.outcome} already, by {one.reviewer}")
        made = _Review(bank, one, outcome, right_answer.strip(), note.strip(), reviewer).events()
        _write(desk, one, made.events)
    lesson = None
    if made.antipattern:
        lesson = gathered(desk, made.antipattern, model)
    with desk.store.experience.reading() as bank:
        return Reviewed(outcome, bank.cases.get(made.case), lesson, made.repeated)


def _write(desk: Desk, one: Suggested, events: Events) -> None:
    """Each collection at once, that of the suggestion last: its mark says that all is done.

    Every event names the suggestion, so a review that is repeated after a crash counts once.
    """
    by_collection: dict[str, list[Mapping[str, Any]]] = {}
    for collection, event in events:
        by_collection.setdefault(collection, []).append({**event, "of": one.id})
    for collection in sorted(by_collection, key=lambda name: name == one.collection):
        desk.store.experience.append(collection, by_collection[collection])


@dataclass(slots=True)
class _Made:
    events: Events
    case: str = ""
    antipattern: str = ""
    repeated: bool = False


@dataclass(slots=True)
class _Review:
    """One review, as the events that it makes."""

    bank: Bank
    one: Suggested
    outcome: str
    right: str
    note: str
    reviewer: str

    @property
    def _main(self) -> Case | None:
        return self.bank.cases.get(self.one.cases[0]) if self.one.cases else None

    def events(self) -> _Made:
        """What is to be written."""
        main, one = self._main, self.one
        if one.proposed:
            return self._noticed()
        if self.outcome == "rejected" and main is not None and self.right and is_same_answer(main.answer, self.right):
            self.outcome = "approved"
        if self.outcome == "approved":
            if main is None or not one.draft:
                raise InvalidInput(f"suggestion {one.id} has no draft to approve; give the right answer")
            events = [(main.collection, _outcome(main.id, good=True)), *self._wording(main), *self._decided(main)]
            made = _Made(events, main.id)
        elif self.outcome == "edited" or (main is not None and self.right and main.is_asked(self.one.question)):
            made = self._edited(main)
        else:
            made = self._rejected(main)
        made.events.append((one.collection, self._mark(made)))
        return made

    def _edited(self, main: Case | None) -> _Made:
        if not self.right:
            raise InvalidInput("an edited answer needs its text")
        if main is None:
            return self._right_case([])
        events: Events = [
            (main.collection, {"_type": "answer", "case": main.id, "answer": self.right, "author": "operator"})
        ]
        events += self._wording(main)
        made = _Made(events, main.id)
        if self.one.verdict == ANSWER:
            self._add_antipattern(made, main.id, main.id)
        return made

    def _rejected(self, main: Case | None) -> _Made:
        """A draft that nobody would have believed is no failure of its case."""
        believed = main is not None and (self.one.verdict == ANSWER or self.one.confidence >= BELIEVED)
        if main is None or not believed:
            return self._right_case([])
        made = self._right_case([(main.collection, _outcome(main.id, good=False))])
        self._add_antipattern(made, main.id, made.case)
        return made

    def _right_case(self, before: Events) -> _Made:
        """The case of the right answer: one that has it, or a new one; without a right answer none."""
        made = _Made(list(before))
        if not self.right:
            return made
        known = self._with_this_answer()
        if known is not None:
            made.case = known.id
            made.events += self._decided(known)
            made.events += [(known.collection, _outcome(known.id, good=True)), *self._wording(known)]
            return made
        made.case, collection = new_id("c"), self.one.collection or GENERAL
        case = {"_type": "case", "id": made.case, "question": self.one.question, "answer": self.right}
        made.events.append((collection, {**case, "author": "operator", "source": self.one.source}))
        for other in self.bank.cases.values():
            if not other.ended and self.one.question in other.asked:
                made.events.append((collection, contested(made.case, other.id)))
                made.events.append((other.collection, contested(other.id, made.case)))
        return made

    def _with_this_answer(self) -> Case | None:
        """A case with the right answer: one that was near, or any whose answer is more than a word or two."""
        near = (self.bank.cases[id_] for id_ in self.one.cases if id_ in self.bank.cases)
        found = next((c for c in near if not c.ended and is_same_answer(c.answer, self.right)), None)
        telling = len(set(content_stems(self.right))) >= _TELLING
        return found or (self.bank.of_answer(self.right) if telling else None)

    def _decided(self, case: Case) -> Events:
        """A person has said which of the cases that contradict each other is right: the others end."""
        rivals = (self.bank.cases[id_] for id_ in sorted(case.contested) if id_ in self.bank.cases)
        why = f"a person decided for {case.id}"
        return [(r.collection, {"_type": "ended", "case": r.id, "why": why}) for r in rivals if not r.ended]

    def _noticed(self) -> _Made:
        """A failure that was noticed in a chat: approved, what the user said is the right answer."""
        self.right = self.right or self.one.proposed
        if self.outcome == "rejected":
            made = _Made([])
        else:
            made = self._right_case([])
            self._add_antipattern(made, "", made.case)
        made.events.append((self.one.collection, self._mark(made)))
        return made

    def _wording(self, case: Case) -> Events:
        if self.one.question in case.asked:
            return []
        return [(case.collection, {"_type": "wording", "case": case.id, "question": self.one.question})]

    def _add_antipattern(self, made: _Made, wrong_case: str, right_case: str) -> None:
        one = self.one
        earlier = [a for a in self.bank.antipatterns.values() if self._is_the_same(a, right_case)]
        made.repeated = bool(earlier) and one.verdict == ANSWER
        for again in earlier[:1]:
            made.events.append((again.collection, {"_type": "again", "antipattern": again.id}))
        made.antipattern = f"a{one.id[1:]}"
        record = {"_type": "antipattern", "id": made.antipattern, "question": one.question, "wrong": one.draft}
        record |= {"right": self.right, "why": self.note, "by": self.reviewer, "source": one.source}
        record |= {"wrong_case": wrong_case, "right_case": right_case}
        made.events.append((one.collection, record))

    def _is_the_same(self, known: Antipattern, right_case: str) -> bool:
        """Whether this very wrong answer was given before where that other one is right."""
        return known.wrong == self.one.draft and known.right_case == right_case != ""

    def _mark(self, made: _Made) -> dict[str, Any]:
        right = self.outcome == "approved"
        mark = {"_type": "reviewed", "suggestion": self.one.id, "outcome": self.outcome, "reviewer": self.reviewer}
        return {**mark, "note": self.note, "right": right, "repeated": made.repeated}


def _outcome(case: str, good: bool) -> dict[str, Any]:
    return {"_type": "outcome", "case": case, "good": good}
