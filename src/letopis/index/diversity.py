"""An order in which neighbours differ: off unless `vector_memory.diversity` says how much.

The pool is fixed, so the order for k hits begins the order for k+1.
"""

from collections.abc import Sequence

POOL = 100


def diverse(
    chosen: Sequence[int], scores: Sequence[float], words: Sequence[frozenset[str]], weight: float
) -> list[int]:
    """Units, best first, each chosen for its score and for how little it repeats those before it.

    `scores` and `words` are those of the chosen; a unit without words is like no other.
    """
    left = list(range(len(chosen)))
    top, least = max(scores, default=0.0), min(scores, default=0.0)
    span = (top - least) or 1.0
    worth = [(1 - weight) * (score - least) / span for score in scores]
    likeness = [0.0] * len(chosen)
    out: list[int] = []
    while left:
        best = max(left, key=lambda at: (worth[at] - weight * likeness[at], -at))
        left.remove(best)
        out.append(chosen[best])
        for at in left:
            likeness[at] = max(likeness[at], _overlap(words[best], words[at]))
    return out


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    together = len(one | other)
    return len(one & other) / together if together else 0.0
