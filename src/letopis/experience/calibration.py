"""Turns how well a case fits into how probable it is that its answer is right.

A first guess by fixed weights, fitted once on other simulated desks, then corrected by what
people said of earlier suggestions: the more reviews, the more they count.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from letopis.model.cases import Suggested

WEIGHTS = {"margin": 8.6, "cover": 2.8, "warned": -0.7, "reliability": 3.4, "bias": -3.7}
_REVIEWS, _PRIOR = 400, (4.0, 40.0)
_STEPS = 20


def first_guess(signals: Mapping[str, float]) -> float:
    """The log-odds of a fit before any review."""
    return WEIGHTS["bias"] + sum(WEIGHTS[name] * value for name, value in signals.items() if name in WEIGHTS)


def learnt(reviewed: Iterable[Suggested]) -> tuple[float, float]:
    """How the first guess is shifted and stretched to agree with the newest reviews (shift, stretch)."""
    own = [one for one in reviewed if one.outcome and one.signals and not one.proposed][-_REVIEWS:]
    shift, stretch = 0.0, 1.0
    guesses = [(first_guess(one.signals), float(one.right)) for one in own]
    for _ in range(_STEPS):
        shift, stretch = _newton(guesses, shift, stretch)
    return shift, max(0.2, stretch)


def _newton(guesses: Sequence[tuple[float, float]], shift: float, stretch: float) -> tuple[float, float]:
    """One step of logistic regression towards (0, 1) as the prior."""
    g0, g1 = -_PRIOR[0] * shift, -_PRIOR[1] * (stretch - 1)
    h00, h01, h11 = _PRIOR[0], 0.0, _PRIOR[1]
    for guess, right in guesses:
        p = probability(shift + stretch * guess)
        w = p * (1 - p)
        g0, g1 = g0 + right - p, g1 + (right - p) * guess
        h00, h01, h11 = h00 + w, h01 + w * guess, h11 + w * guess * guess
    determinant = h00 * h11 - h01 * h01
    by_shift, by_stretch = (h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant
    return shift + max(-1.0, min(1.0, by_shift)), stretch + max(-0.5, min(0.5, by_stretch))


def probability(odds: float) -> float:
    """The probability of log-odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
