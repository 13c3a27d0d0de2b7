"""Adds cases: what is known already is merged with its counts, what contradicts is marked as such."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from letopis.errors import InvalidInput
from letopis.experience.desk import Desk, new_id
from letopis.experience.matcher import Match
from letopis.model import figures, secrets
from letopis.model.bank import Bank
from letopis.model.cases import AUTHORS, Case
from letopis.model.text import content_stems, normalise, overlap

_SAME_QUESTION, _SAME_ANSWER, _NEAR = 0.9, 0.85, 0.35
_MOST_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Added:
    """A new case; `conflicts` are older ones with another answer to the same question."""

    case: Case
    conflicts: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Merged:
    """The case was known; `wording` tells whether the question is a new way to ask for it."""

    case: Case
    wording: bool


def add(
    desk: Desk,
    question: str,
    answer: str,
    collection: str | None = None,
    author: str = "operator",
    source: str = "",
    valid_until: str = "",
    embed: bool = True,
) -> Added | Merged:
    """Keep a question with its right answer. Raises InvalidInput for what cannot be a case.

    Without `embed` its vector is left to the worker, and what is near is found by words.
    """
    _check(question, answer, author)
    vector = desk.vector(question) if embed else None
    with desk.store.experience.changing() as bank:
        near = [m for m in desk.nearest(bank, question, vector) if m.case in bank.cases]
        known = _known(bank, near, question, answer)
        if known is not None:
            return _merged(desk, known, question)
        conflicts: tuple[Case, ...] = tuple(
            bank.cases[m.case] for m in near if _asks_the_same(m, bank.cases[m.case], question)
        )
        _check_rank(conflicts, author)
        own = collection or desk.collection_for(bank, question, vector)
        case = _new(desk, own, question, answer, author, source, valid_until)
        for other in conflicts:
            if other.author == "model" and author != "model":
                ended = {"_type": "ended", "case": other.id, "why": f"a person answered otherwise ({case.id})"}
                desk.store.experience.append(other.collection, [ended])
            else:
                desk.store.experience.append(own, [contested(case.id, other.id)])
                desk.store.experience.append(other.collection, [contested(other.id, case.id)])
    with desk.store.experience.reading() as bank:
        return Added(bank.cases[case.id], conflicts)


def _check_rank(conflicts: Sequence[Case], author: str) -> None:
    """What a person answered is not questioned by what a model supposes."""
    answered = next((case for case in conflicts if case.author != "model"), None)
    if author == "model" and answered is not None:
        raise InvalidInput(
            f"this question is answered already, by {answered.author} ({answered.id}): {answered.answer!r}"
        )


def _check(question: str, answer: str, author: str) -> None:
    for name, text in (("question", question), ("answer", answer)):
        if not text.strip():
            raise InvalidInput(f"a case needs a {name}")
        if len(text) > _MOST_CHARACTERS:
            raise InvalidInput(f"the {name} has {len(text)} characters; a case may have {_MOST_CHARACTERS}")
        if secrets.holds_secret(text):
            raise InvalidInput(f"the {name} holds a password, key or token, which are never kept as experience")
    if author not in AUTHORS:
        raise InvalidInput(f"the author of a case is one of {', '.join(AUTHORS)}, not {author!r}")


def _known(bank: Bank, near: Sequence[Match], question: str, answer: str) -> Case | None:
    """A near case with this answer."""
    for match in near:
        case = bank.cases[match.case]
        near_enough = match.score >= _NEAR or _asks_the_same(match, case, question)
        if not case.ended and near_enough and is_same_answer(case.answer, answer):
            return case
    return None


def _merged(desk: Desk, case: Case, question: str) -> Merged:
    new = question.strip() not in case.asked
    if new:
        wording = {"_type": "wording", "case": case.id, "question": question.strip()}
        desk.store.experience.append(case.collection, [wording])
    return Merged(case, new)


def _new(desk: Desk, collection: str, question: str, answer: str, author: str, source: str, valid_until: str) -> Case:
    record: dict[str, Any] = {"_type": "case", "id": new_id("c"), "question": question.strip()}
    record |= {"answer": answer.strip(), "author": author}
    record |= {name: value for name, value in (("source", source), ("valid_until", valid_until)) if value}
    desk.store.experience.append(collection, [record])
    return Case(record["id"], collection, question, answer, author, "")


def contested(case: str, other: str) -> dict[str, Any]:
    """One side of a contradiction, as its event."""
    return {"_type": "contested", "case": case, "with": other}


def _asks_the_same(match: Match, case: Case, question: str) -> bool:
    if case.ended:
        return False
    own = content_stems(question)
    return case.is_asked(question) or any(overlap(content_stems(w), own) >= _SAME_QUESTION for w in case.asked)


def is_same_answer(left: str, right: str) -> bool:
    """Whether two answers say the same: the same figures and nearly the same words."""
    if normalise(left).split() == normalise(right).split():
        return True
    if figures.meant(left) != figures.meant(right):
        return False
    return overlap(content_stems(left), content_stems(right)) >= _SAME_ANSWER
