"""Suggests an answer: the case that a question means, what it rests on, and whether a person should look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from letopis.experience.calibration import first_guess, probability
from letopis.experience.matcher import Match
from letopis.model.bank import Bank
from letopis.model.cases import Antipattern, Case, Lesson
from letopis.model.text import negated

FITS, NEAR = 0.15, 0.3  # a case farther than the first has nothing to say, than the second answers nothing alone
BELIEVED = 0.5  # from this confidence on a draft that was wrong is a failure, whoever looked at it
ANSWER, ASK = "answer", "ask"
_SHOWN_CASES, _SHOWN_WARNINGS = 5, 3
_CONTESTED, _SURER, _CLEAR = 0.5, 0.15, 0.4
_ASKED_IN_FEW, _UNLIKE, _RIVAL = 3, 0.95, 0.8


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An answer draft with what it rests on. `id` is empty until it is kept for review."""

    question: str
    draft: str
    verdict: str
    confidence: float
    reason: str
    cases: tuple[tuple[Case, float], ...] = ()
    antipatterns: tuple[Antipattern, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)
    collection: str = ""
    id: str = ""

    def record(self) -> dict[str, Any]:
        """The suggestion as tools and `--json` give it."""
        out: dict[str, Any] = {"status": "ok" if self.cases else "empty", "id": self.id, "question": self.question}
        out |= {"verdict": self.verdict, "confidence": round(self.confidence, 3), "reason": self.reason}
        out |= {"draft": self.draft, "collection": self.collection}
        out["cases"] = [{**case.record(), "nearness": round(score, 3)} for case, score in self.cases]
        out["wrong_answers"] = [a.record() for a in self.antipatterns]
        out["lessons"] = [lesson.record() for lesson in self.lessons]
        return out


def judged(
    bank: Bank,
    question: str,
    matches: Sequence[Match],
    calibration: tuple[float, float],
    answer_at: float,
    today: str,
) -> Suggestion:
    """The suggestion that these matches make, nearest first; warnings among them only warn."""
    near = [m for m in matches if not m.case.startswith("!")]
    fitting = [m for m in near if m.score >= FITS][:_SHOWN_CASES]
    wrong, lessons = _warnings(bank, fitting, matches)
    if not fitting:
        return Suggestion(question, "", ASK, 0.0, "no case is near this question", (), wrong, lessons)
    best = bank.cases[fitting[0].case]
    signals = _signals(bank, best, near, matches)
    shift, stretch = calibration
    confidence = probability(shift + stretch * first_guess(signals))
    doubt = _unlike(fitting[0], question)
    if best.is_asked(question):  # then only how often it was right counts
        confidence, doubt = max(confidence, best.confidence), ""
    if doubt:
        confidence = min(confidence, answer_at * _UNLIKE)
    known = (bank.cases[other] for other in best.contested if other in bank.cases)
    rivals = {other.id for other in known if other.stands(today) and best.id in other.contested}
    if rivals:
        confidence = min(confidence, _CONTESTED)
        shown = [(best, fitting[0].score), *((bank.cases[other], fitting[0].score) for other in sorted(rivals))]
        return Suggestion(
            question, best.answer, ASK, confidence, "cases contradict each other; a person must decide", tuple(shown),
            wrong, lessons, signals, best.collection,
        )  # fmt: skip
    needed = answer_at + signals["warned"] * _SURER * (1 - answer_at)  # what went wrong before must be surer
    verdict = ANSWER if confidence >= needed and fitting[0].score >= NEAR else ASK
    cases = tuple((bank.cases[m.case], m.score) for m in fitting)
    reason = "the case fits" if verdict == ANSWER else doubt or _doubt(signals)
    return Suggestion(
        question, best.answer, verdict, confidence, reason, cases, wrong, lessons, signals, best.collection
    )


def _unlike(match: Match, question: str) -> str:
    """Why a question may mean something else than the case that it resembles, or an empty text.

    A condition more ("on Sunday", "without a receipt") often has another answer. A case that was asked in
    many ways has shown which words make no difference; one that was asked in few has not.
    """
    if negated(question) != negated(match.wording):
        return "one denies what the other says"
    if match.new and match.wordings < _ASKED_IN_FEW:
        return f"the case was never asked with {', '.join(sorted(match.new)[:3])}"
    return ""


def _signals(bank: Bank, best: Case, near: Sequence[Match], matches: Sequence[Match]) -> dict[str, float]:
    """What the confidence is made of."""
    top = near[0]
    rival = next((m for m in matches if m.case != top.case and not _agrees(bank, m.case, best)), None)
    confused = rival is not None and _confused(bank, best.id, rival.case)
    return {
        "score": top.score,
        "margin": min(_CLEAR, top.score - (rival.score if rival is not None else 0.0)),
        "cover": top.cover,
        "warned": float(confused),
        "reliability": best.confidence,
    }


def _agrees(bank: Bank, other: str, best: Case) -> bool:
    return other in bank.cases and bank.cases[other].answer == best.answer


def _confused(bank: Bank, best: str, rival: str) -> bool:
    """Whether these two were taken for each other before, or the rival is a warning."""
    pair = {best, rival}
    return rival.startswith("!") or any({a.wrong_case, a.right_case} == pair for a in bank.antipatterns.values())


def _doubt(signals: Mapping[str, float]) -> str:
    if signals["warned"] and signals["margin"] < 0.2:
        return "questions like this were answered wrongly before"
    if signals["score"] < NEAR:
        return "no case is near enough to be sure"
    if signals["margin"] < 0.1:
        return "another case with another answer is nearly as near"
    if signals["reliability"] < 0.7:
        return "the case was wrong too often"
    return "no case fits surely enough"


def _warnings(
    bank: Bank, fitting: Sequence[Match], matches: Sequence[Match]
) -> tuple[tuple[Antipattern, ...], tuple[Lesson, ...]]:
    """The wrong answers and lessons that belong to the cases that fit, newest and most frequent first."""
    best = bank.cases[fitting[0].case] if fitting else None
    cases = {m.case for m in fitting if m.score >= _RIVAL * fitting[0].score}
    warned = {m.case[1:] for m in matches if m.case.startswith("!") and m.score >= FITS}
    found = [
        a
        for a in bank.antipatterns.values()
        if a.id in warned
        or ((a.right_case in cases or a.wrong_case in cases) and not (best is not None and a.wrong == best.answer))
    ]
    found.sort(key=lambda a: (a.id in warned, a.count, a.at), reverse=True)
    ids = {a.id for a in found}
    lessons = [one for one in bank.lessons.values() if ids.intersection(one.evidence)]
    lessons.sort(key=lambda one: (one.count, one.at), reverse=True)
    return tuple(found[:_SHOWN_WARNINGS]), tuple(lessons[:_SHOWN_WARNINGS])
