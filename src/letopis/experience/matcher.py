"""Which case a question means: how near it is to every wording in which a case was ever asked.

Nearness is half meaning (cosines, apart from what all questions have in common) and half words
(cosine of the weighted stems). Wrong answers without a right one are wordings too, of nothing:
who comes near one is warned. It grows with the bank and is never rebuilt while the bank only grows.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from letopis.model.bank import Bank
from letopis.model.text import content_stems

Floats = NDArray[np.float32]
Known = Callable[[Sequence[str]], Mapping[str, Floats]]

MEANING = 0.6
_NEAREST, _BEST, _TOP = 200, 0.7, 3
_STALE = 1.02  # weights and the centre are made anew when there are so many times more wordings
_FEW = 20
_RETRIED, _PAUSE = 2_000, 1.0  # wordings without a vector that are looked for again, at most so often (seconds)


@dataclass(frozen=True, slots=True)
class Match:
    """A case, how near its wordings are (0 to 1), its nearest one, and how much of the question its words cover.

    `new` are the words of the question that none of its wordings has, `wordings` how many it has.
    """

    case: str
    score: float
    wording: str
    cover: float
    new: frozenset[str] = frozenset()
    wordings: int = 1


class Matcher:
    """The wordings of one bank."""

    def __init__(self, plain: Callable[[], Floats] | None) -> None:
        self._plain = plain
        self.wordings: list[str] = []
        self.cases: list[str] = []
        self._stems: list[frozenset[str]] = []
        self._postings: dict[str, list[int]] = {}
        self._of_case: dict[str, list[int]] = {}
        self._vectors: Floats = np.zeros((0, 0), np.float32)
        self._has = np.zeros(0, bool)
        self._without: dict[int, str] = {}
        self._warnings: set[str] = set()
        self._taken = self._weighed = 0
        self._retry_at = 0.0
        self._norms: Floats = np.zeros(0, np.float32)
        self._centred = 0
        self._centre: Floats | None = None
        self._sizes: Floats = np.zeros(0, np.float32)
        self._shift: Floats = np.zeros(0, np.float32)

    def update(self, bank: Bank, known: Known) -> None:
        """Take in the wordings that are new, and vectors that were missing."""
        new = bank.asked[self._taken :]
        self._taken = len(bank.asked)
        warnings = [a for a in bank.antipatterns.values() if not a.right and a.id not in self._warnings]
        self._warnings.update(a.id for a in warnings)
        for case, wording in (*new, *((f"!{a.id}", a.question) for a in warnings)):
            self._add(case, wording)
        self._place(known, list(range(len(self.cases) - len(new) - len(warnings), len(self.cases))))

    def _add(self, case: str, wording: str) -> None:
        at = len(self.cases)
        self.cases.append(case)
        self.wordings.append(wording)
        self._of_case.setdefault(case, []).append(at)
        stems = frozenset(content_stems(wording))
        self._stems.append(stems)
        for stem in stems:
            self._postings.setdefault(stem, []).append(at)

    def _place(self, known: Known, new: Sequence[int]) -> None:
        wanted = {at: self.wordings[at] for at in new}
        if time.monotonic() > self._retry_at:
            wanted |= dict(list(self._without.items())[:_RETRIED])
            self._retry_at = time.monotonic() + _PAUSE
        if not wanted:
            return
        found = known(list(dict.fromkeys(wanted.values())))
        size = next((len(v) for v in found.values()), self._vectors.shape[1])
        self._grow(size)
        for at, wording in wanted.items():
            vector = found.get(wording)
            if vector is not None and len(vector) == self._vectors.shape[1]:
                self._vectors[at], self._has[at] = vector, True
                self._sizes = self._sizes[:0]
                self._without.pop(at, None)
            else:
                self._without[at] = wording

    def _grow(self, size: int) -> None:
        rows = len(self._has)
        if size != self._vectors.shape[1]:
            self._vectors, self._centred = np.zeros((rows, size), np.float32), 0
            self._has[:] = False
        if len(self.cases) > rows:
            more = max(64, len(self.cases) + len(self.cases) // 2) - rows
            self._vectors = np.concatenate([self._vectors, np.zeros((more, size), np.float32)])
            self._has = np.concatenate([self._has, np.zeros(more, bool)])

    def nearest(self, question: str, vector: Floats | None, allowed: Callable[[str], bool]) -> list[Match]:
        """The allowed cases, nearest first; warnings stand among them under their own names."""
        if not self.cases:
            return []
        own = frozenset(content_stems(question))
        near = self._words(own)
        if vector is not None and vector.shape == self._vectors.shape[1:] and not self.lacks_vectors:
            cosines = self._cosines(vector)
            near = np.where(self._has[: len(near)], MEANING * cosines + (1 - MEANING) * near, near)
        lets: dict[str, bool] = {}
        kept: dict[str, list[int]] = {}
        left = _NEAREST
        for at in np.argsort(-near, kind="stable"):
            case = self.cases[at]
            if case not in lets:
                lets[case] = case.startswith("!") or allowed(case)
            if lets[case]:
                kept.setdefault(case, []).append(int(at))
                left -= 1
                if not left:
                    break
        matches = [self._match(case, ats, near, own) for case, ats in kept.items()]
        return sorted(matches, key=lambda m: (-m.score, m.case))

    @property
    def lacks_vectors(self) -> bool:
        """Whether so many wordings have no vector yet that words alone can compare them all."""
        return len(self._without) * _FEW > len(self.cases)

    def _match(self, case: str, ats: Sequence[int], near: Floats, own: frozenset[str]) -> Match:
        top = [float(near[at]) for at in ats[:_TOP]]
        score = _BEST * top[0] + (1 - _BEST) * sum(top) / _TOP if not case.startswith("!") else top[0]
        held = set().union(*(self._stems[at] for at in self._of_case[case]))
        weight = sum(self._weight(s) for s in own)
        cover = sum(self._weight(s) for s in own & held) / weight if weight else 0.0
        return Match(case, score, self.wordings[ats[0]], cover, own - held, len(self._of_case[case]))

    def _weight(self, stem: str) -> float:
        """The squared weight of a stem: the fewer wordings have it, the more it tells."""
        return math.log((len(self.cases) + 1) / (len(self._postings.get(stem, ())) + 0.5)) ** 2

    def _words(self, own: frozenset[str]) -> Floats:
        if len(self.cases) > self._weighed * _STALE:
            self._weighed = len(self.cases)
            weights = {stem: self._weight(stem) for stem in self._postings}
            self._norms = np.array([sum(weights[s] for s in stems) for stems in self._stems], np.float32)
        elif len(self._norms) < len(self.cases):
            late = (sum(self._weight(s) for s in stems) for stems in self._stems[len(self._norms) :])
            self._norms = np.concatenate([self._norms, np.fromiter(late, np.float32)])
        found = np.zeros(len(self.cases), np.float32)
        for stem in own:
            rows = self._postings.get(stem)
            if rows:
                found[rows] += self._weight(stem)
        norm = sum(self._weight(stem) for stem in own)
        shared: Floats = np.minimum(found / np.sqrt(np.maximum(norm * self._norms, 1e-9)), 1.0)
        return shared

    def _cosines(self, vector: Floats) -> Floats:
        """Cosines with every wording, each side apart from the centre."""
        count = len(self.cases)
        rows = self._vectors[:count]
        if self._centre is None or count > self._centred * _STALE or len(self._sizes) < count:
            if self._centre is None or count > self._centred * _STALE:
                self._centred = count
                plain = self._plain() if self._plain is not None else rows[:0]
                plain = plain if plain.shape[1:] == rows.shape[1:] else rows[:0]
                self._centre = np.concatenate([plain, rows[self._has[:count]]]).mean(axis=0)
            self._shift = rows @ self._centre
            sizes = (rows * rows).sum(axis=1) - 2 * self._shift + self._centre @ self._centre
            self._sizes = np.sqrt(np.maximum(sizes, 1e-9))
        own = vector - self._centre
        found: Floats = (rows @ own - self._centre @ own) / (self._sizes * max(float(np.linalg.norm(own)), 1e-9))
        return found
