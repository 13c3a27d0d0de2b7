"""A support desk over time: how often a person is needed, how often the answer is wrong, and repeated mistakes.

    python benchmarks/experience.py [--questions 2000] [--seed 1] [--json]

The desk of `support_desk.py`, seeded: sixty kinds of questions in Russian and English, each asked
in other words every time; some answers change, which nobody announces; 15 % of the questions are
traps, asked like others but with another answer. An operator reviews: approves, edits an answer
that is out of date, or gives the right one. Beside it, plain retrieval of question and answer
pairs by vectors and by BM25, which learns every pair too.
"""

import argparse
import math
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import support_desk
from report import report

from letopis.experience import Desk, desk_of
from letopis.experience.review import review
from letopis.experience.suggest import ANSWER
from letopis.llm.connect import Models
from letopis.memory import open_memory
from letopis.model.text import content_stems
from letopis.store.init import init

LATE, PER = 500, 100


@dataclass
class Asked:
    """One question in time: what is right now, and whether its answer has just changed unannounced."""

    text: str
    intent: int
    right: str
    twin: bool
    fresh_change: bool


@dataclass
class Answered:
    """What became of it. `repeat`: the same wrong answer to this kind of question was corrected before."""

    asked: bool
    wrong: bool
    repeat: bool
    confidence: float
    right_draft: bool


def timeline(seed: int, count: int) -> list[Asked]:
    maker = random.Random(seed)
    desk = support_desk.intents(seed)
    order = [at for at, intent in enumerate(desk) for _ in intent.paraphrases]
    maker.shuffle(order)
    left = [iter(intent.paraphrases) for intent in desk]
    changes = {
        at: maker.randrange(count // 5, count * 4 // 5) for at in maker.sample(range(len(desk)), support_desk.CHANGING)
    }
    out = []
    for n, at in enumerate(order[:count]):
        changed = at in changes and n >= changes[at]
        if changed:
            del changes[at]
            desk[at].answer = support_desk.answer(maker, desk[at].language, desk[at].name)
        out.append(Asked(next(left[at]), at, desk[at].answer, desk[at].twin, changed))
    return out


def served(desk: Desk, questions: Sequence[Asked], log: list | None = None) -> list[Answered]:
    """Ask, answer, and let the operator review each in turn."""
    corrected: set[tuple[int, str]] = set()
    given: dict[int, set[str]] = {}
    out = []
    for one in questions:
        made = desk.keep(desk.suggest(one.text))
        right = made.draft == one.right
        answered = made.verdict == ANSWER
        wrong = answered and not right
        out.append(
            Answered(not answered, wrong, wrong and (one.intent, made.draft) in corrected, made.confidence, right)
        )
        if log is not None:
            log.append((dict(made.signals), right))
        if wrong:
            corrected.add((one.intent, made.draft))
        outcome = "approved" if right else "edited" if made.draft in given.get(one.intent, ()) else "rejected"
        review(desk, made.id, outcome, "" if right else one.right)
        given.setdefault(one.intent, set()).add(one.right)
    return out


# --- what it is compared with -------------------------------------------------------------------

Score = Callable[[str], np.ndarray]


def plainly(
    questions: Sequence[Asked], nearness: Callable[[Sequence[str]], Callable[[int], np.ndarray]]
) -> list[tuple[float, bool]]:
    """Of each question: how near the nearest earlier one is, and whether its answer is right now."""
    score = nearness([one.text for one in questions])
    out = [(0.0, False)]
    for at, one in enumerate(questions[1:], 1):
        near = score(at)
        best = len(near) - 1 - int(np.argmax(near[::-1]))
        out.append((float(near[best]), questions[best].right == one.right))
    return out


def by_vectors(vectors: dict[str, np.ndarray]) -> Callable[[Sequence[str]], Callable[[int], np.ndarray]]:
    def made(texts: Sequence[str]) -> Callable[[int], np.ndarray]:
        rows = np.stack([vectors[text] for text in texts])
        return lambda at: rows[:at] @ rows[at]

    return made


def by_bm25(texts: Sequence[str]) -> Callable[[int], np.ndarray]:
    documents = [Counter(content_stems(text)) for text in texts]

    def score(at: int) -> np.ndarray:
        seen = documents[:at]
        mean = sum(sum(d.values()) for d in seen) / at
        out = np.zeros(at)
        for stem in documents[at]:
            having = sum(stem in d for d in seen)
            if having:
                idf = math.log(1 + (at - having + 0.5) / (having + 0.5))
                for n, d in enumerate(seen):
                    if stem in d:
                        out[n] += idf * d[stem] * 2.2 / (d[stem] + 1.2 * (0.25 + 0.75 * sum(d.values()) / mean))
        return out

    return score


def at_same_asked(scored: Sequence[tuple[float, bool]], asked: float) -> float:
    """The share of wrong answers where a person is needed as often."""
    ranked = sorted(scored, key=lambda pair: -pair[0])
    answered = ranked[: round(len(ranked) * (1 - asked))]
    return sum(not right for _, right in answered) / len(scored)


def at_same_wrong(scored: Sequence[tuple[float, bool]], wrong: float) -> float:
    """The share that needs a person where as many answers are wrong."""
    ranked = sorted(scored, key=lambda pair: -pair[0])
    best = bad = 0
    for at, (_, right) in enumerate(ranked, 1):
        bad += not right
        if bad / len(scored) <= wrong:
            best = at
    return 1 - best / len(scored)


def calibration_error(answered: Sequence[Answered], bins: int = 10) -> float:
    """Expected calibration error: how far confidence is from the share that is right, by tenths."""
    error = 0.0
    for low in range(bins):
        own = [a for a in answered if low <= a.confidence * bins < low + 1 or (low == bins - 1 and a.confidence == 1)]
        if own:
            right = sum(a.right_draft for a in own) / len(own)
            error += len(own) / len(answered) * abs(right - sum(a.confidence for a in own) / len(own))
    return error


def speed(folder: Path, count: int) -> float:
    """Milliseconds of a suggestion in a bank of so many cases, the question's vector given."""
    init(folder)
    memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
    desk, maker = desk_of(memory.store, memory.index), np.random.default_rng(1)
    words = [f"слово{n}а" for n in range(3_000)]
    texts = [" ".join(words[int(w)] for w in maker.integers(0, 3_000, 9)) for _ in range(count)]
    memory.store.experience.append(
        "all",
        [
            {"_type": "case", "id": f"c{n:08x}", "question": t, "answer": f"ответ {n}", "author": "import"}
            for n, t in enumerate(texts)
        ],
    )
    rows = maker.normal(size=(count, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vectors = dict(zip(texts, rows, strict=True))
    memory.index.embedded = lambda asked, make=True: {t: vectors[t] for t in asked if t in vectors}  # type: ignore[method-assign]
    desk.suggest(texts[0])
    times = []
    for n in range(50):
        start = time.perf_counter()
        desk.suggest(texts[n * 7])
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    questions = timeline(chosen.seed, chosen.questions)
    with tempfile.TemporaryDirectory() as name:
        init(Path(name) / "w")
        memory = open_memory(Path(name) / "w", models=Models(None, None), environ={}, durability="batch")
        desk = desk_of(memory.store, memory.index)
        answered = served(desk, questions)
        vectors = memory.index.embedded([one.text for one in questions])
        milliseconds = speed(Path(name) / "s", 10_000)
    rows = []
    for start in range(0, len(answered), PER):
        own = answered[start : start + PER]
        fresh = [q.fresh_change for q in questions[start : start + PER]]
        rows.append(
            {
                "questions": f"{start + 1}-{start + len(own)}",
                "need a person, %": 100 * sum(a.asked for a in own) / len(own),
                "wrong, %": 100 * sum(a.wrong and not f for a, f in zip(own, fresh, strict=True)) / len(own),
                "wrong, first after a change": sum(a.wrong and f for a, f in zip(own, fresh, strict=True)),
                "repeated mistakes, %": 100 * sum(a.repeat for a in own) / len(own),
            }
        )
    report("experience", rows)
    late = slice(len(answered) - LATE, None)
    own, asked_late = answered[late], questions[late]
    asked = sum(a.asked for a in own) / LATE
    wrong = sum(a.wrong and not q.fresh_change for a, q in zip(own, asked_late, strict=True)) / LATE
    table = [
        {
            "last 500": "letopis",
            "need a person, %": 100 * asked,
            "wrong, %": 100 * wrong,
            "same person: wrong, %": 100 * wrong,
            "same wrong: person, %": 100 * asked,
        }
    ]
    for title, way in (("vectors", by_vectors(vectors)), ("BM25", by_bm25)):
        scored = plainly(questions, way)[late]
        kept = [pair for pair, q in zip(scored, asked_late, strict=True) if not q.fresh_change]
        table.append(
            {
                "last 500": title,
                "need a person, %": "-",
                "wrong, %": "-",
                "same person: wrong, %": 100 * at_same_asked(kept, asked),
                "same wrong: person, %": 100 * at_same_wrong(kept, wrong),
            }
        )
    facts = {
        "repeated mistakes, % of all": 100 * sum(a.repeat for a in answered) / len(answered),
        "expected calibration error": calibration_error(answered),
        "traps among the questions, %": 100 * sum(q.twin for q in questions) / len(questions),
        "a suggestion among 10,000 cases, ms": milliseconds,
    }
    report("last 500", table, **facts)
    report("all", [facts])


if __name__ == "__main__":
    main()
