"""The ranking rule: words with their neighbourhood, meaning, session, speaker, role, date.

Knows numbers and arrays; knows no file and no database. A *unit* is a message, or a block of a
note; its *pieces* are at most 600 characters; a *group* is its session, or its section. What a
question's words do not touch is not computed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEIGHBOURS = ((1, 0.3), (2, 0.1))
LONE = 1.0  # a missing neighbour counts as so much of the message itself, so that a lone note competes with a chat
K1 = 0.8
LENGTH_FLOOR = 0.5
COVER_POWER = 1.15
SESSION, SPEAKER, ROLE, DATE, TIME, NUMBER = 0.35, 0.3, 0.1, 0.2, 0.1, 0.05
MEANING, MEANING_FALL, USUAL_TERMS = 0.1, 0.04, 6  # the fewer words a question has, the less they tell
MEANING_NEIGHBOURS = ((1, 0.1), (2, 0.035))


@dataclass(frozen=True, slots=True)
class Corpus:
    """What ranking must know of the units and pieces; both are in one fixed order, groups together.

    `joined[d]` tells of each unit whether the one d places after it is of the same group.
    """

    piece_unit: Ints
    unit_group: Ints
    first_piece: Ints
    pieces_of_unit: Ints
    units_of_group: Ints
    piece_norm: Floats
    unit_norm: Floats
    group_norm: Floats
    joined: dict[int, Bools]
    alone: Floats

    @classmethod
    def of(cls, piece_unit: Ints, piece_length: Floats, unit_group: Ints) -> "Corpus":
        """The corpus of pieces that stand in the order of their units, and units in that of their groups."""
        units = len(unit_group)
        groups = int(unit_group[-1]) + 1 if units else 0
        unit_length = np.bincount(piece_unit, piece_length, units).astype(np.float32)
        joined = {distance: _joined(unit_group, distance) for distance, _ in NEIGHBOURS}
        alone = np.ones(units, np.float32)
        for distance, weight in NEIGHBOURS:
            after, before = joined[distance], np.zeros(units, bool)
            before[distance:] = after[: max(0, units - distance)]
            alone += LONE * weight * (2.0 - after - before)
        return cls(
            piece_unit,
            unit_group,
            np.searchsorted(piece_unit, np.arange(units)),
            np.bincount(piece_unit, minlength=units),
            np.bincount(unit_group, minlength=groups),
            _norms(piece_length),
            _norms(unit_length),
            _norms(np.bincount(unit_group, unit_length, groups).astype(np.float32)),
            joined,
            alone,
        )

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.unit_group)

    @property
    def whole(self) -> bool:
        """Whether every unit is one piece."""
        return len(self.piece_unit) == len(self.unit_group)

    def by_unit(self, by_group: NDArray[np.generic]) -> NDArray[np.generic]:
        """What is known of groups, for each of their units."""
        return np.repeat(by_group, self.units_of_group)

    def pieces(self, units: Ints) -> tuple[Ints, Ints]:
        """The pieces of these units, and where those of each unit begin among them."""
        counts = self.pieces_of_unit[units]
        starts = np.cumsum(counts) - counts
        if self.whole:
            return self.first_piece[units], starts
        return np.repeat(self.first_piece[units] - starts, counts) + np.arange(int(counts.sum())), starts


def _joined(group: Ints, distance: int) -> Bools:
    out = np.zeros(len(group), bool)
    if len(group) > distance:
        out[:-distance] = group[distance:] == group[:-distance]
    return out


def _norms(lengths: Floats) -> Floats:
    average = float(lengths.mean()) if len(lengths) else 1.0
    return (LENGTH_FLOOR + (1 - LENGTH_FLOOR) * lengths / (average or 1.0)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Matches:
    """Where one term stands: pieces, ascending, and how often."""

    pieces: Ints
    counts: Floats


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each unit, the part of each signal in it, and how many of the terms it holds itself."""

    total: Floats
    parts: dict[str, Floats]
    held: Ints


def rank(
    corpus: Corpus, terms: list[Matches], cosines: Floats | None, hints: Mapping[str, tuple[float, Bools | Floats]]
) -> Scores:
    """Score every unit.

    `cosines` are by piece, nan where a piece has no vector; None without meaning. `hints` are what
    else the question tells of its answer: name → (weight, how well each unit fits).
    """
    words, session, held = _words(corpus, terms)
    parts = {"words": words, "session": session}
    if cosines is not None:
        parts["meaning"] = meaning_weight(len(terms)) * _meaning(corpus, cosines)
    for name, (weight, fitting) in hints.items():
        parts[name] = np.float32(weight) * fitting
    total = np.zeros(corpus.units, np.float32)
    for part in parts.values():
        total += part
    return Scores(total, parts, held)


def meaning_weight(terms: int) -> np.float32:
    """What one deviation in meaning is worth beside so many words."""
    return np.float32(min(0.4, max(0.03, MEANING - MEANING_FALL * np.log(max(1, terms) / USUAL_TERMS))))


def _words(corpus: Corpus, terms: list[Matches]) -> tuple[Floats, Floats, Ints]:
    """The share of the question's idf mass that each unit covers, its session's, and the terms it holds."""
    groups = len(corpus.group_norm)
    by_piece, by_group = np.zeros(len(corpus.piece_unit), np.float32), np.zeros(groups, np.float32)
    held, seen = np.zeros(corpus.units, np.int64), np.zeros(corpus.units, bool)
    mass = group_mass = 0.0
    for term in terms:
        owners = corpus.piece_unit[term.pieces]
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        present = owners[starts]
        counts: Floats = np.add.reduceat(term.counts, starts) if len(starts) else term.counts
        held[present] += 1
        idf = _idf(corpus.units, len(present))
        mass += idf
        near, touched = _around(corpus, present, (counts / corpus.unit_norm[present]).astype(np.float32, copy=False))
        seen[touched] = True
        own = np.zeros(len(by_piece), np.float32)
        own[term.pieces] = term.counts / corpus.piece_norm[term.pieces] * corpus.alone[owners]
        pieces, _ = corpus.pieces(touched)
        field = own[pieces] + near[corpus.piece_unit[pieces]]
        by_piece[pieces] += idf * (field / (field + K1))
        in_group = np.bincount(corpus.unit_group[present], counts, groups).astype(np.float32)
        group_idf = _idf(groups, int(np.count_nonzero(in_group)))
        group_mass += group_idf
        field = in_group / corpus.group_norm
        by_group += group_idf * (field / (field + K1))
    cover = np.zeros(corpus.units, np.float32)
    touched = np.flatnonzero(seen)
    if len(touched):
        pieces, starts = corpus.pieces(touched)
        cover[touched] = (np.maximum.reduceat(by_piece[pieces], starts) / (mass or 1.0)) ** np.float32(COVER_POWER)
    session = corpus.by_unit(np.float32(SESSION / (group_mass or 1.0)) * by_group)
    return cover, session.astype(np.float32, copy=False), held


def _idf(count: int, present: int) -> float:
    return float(np.log1p((count - present + 0.5) / (present + 0.5)))


def _around(corpus: Corpus, present: Ints, values: Floats) -> tuple[Floats, Ints]:
    """What the units that have a term give to their neighbours, and all units that it touches."""
    near, touched = np.zeros(corpus.units, np.float32), np.zeros(corpus.units, bool)
    touched[present] = True
    for distance, weight in NEIGHBOURS:
        joined = corpus.joined[distance]
        after = joined[present]
        before = (present >= distance) & joined[np.maximum(present - distance, 0)]
        for targets, given in (
            (present[after] + distance, values[after]),
            (present[before] - distance, values[before]),
        ):
            near[targets] += np.float32(weight) * given  # no two units have the same neighbour on one side
            touched[targets] = True
    return near, np.flatnonzero(touched)


def _meaning(corpus: Corpus, cosines: Floats) -> Floats:
    """Cosines, the best piece of each unit and the mean of all, as z-scores over the store with their neighbours."""
    z = _z(cosines if corpus.whole else _of_units(corpus, cosines))
    around = z.copy()
    for distance, weight in MEANING_NEIGHBOURS:
        if len(z) > distance:
            joined = corpus.joined[distance][:-distance]
            around[:-distance] += np.float32(weight) * np.where(joined, z[distance:], z[:-distance])
            around[distance:] += np.float32(weight) * np.where(joined, z[:-distance], z[distance:])
        around[-distance:] += np.float32(weight) * z[-distance:]
        around[:distance] += np.float32(weight) * z[:distance]
    return _z(around)


def _of_units(corpus: Corpus, cosines: Floats) -> Floats:
    known = np.isfinite(cosines)
    best = np.maximum.reduceat(np.where(known, cosines, np.float32(-np.inf)), corpus.first_piece)
    counts = np.add.reduceat(known, corpus.first_piece, dtype=np.float32)
    mean = np.add.reduceat(np.where(known, cosines, np.float32(0)), corpus.first_piece) / np.maximum(counts, 1)
    return (best + mean).astype(np.float32)


def _z(values: Floats) -> Floats:
    finite = np.isfinite(values)
    if finite.all():
        known = values
    elif finite.any():
        known = values[finite]
    else:
        return np.zeros(len(values), np.float32)
    made = values - known.mean()
    if known is not values:
        made[~finite] = 0.0
    deviation = float(np.sqrt(made @ made / len(known)))
    scaled: Floats = made / np.float32(deviation or 1.0)
    return scaled


def unit(vectors: Floats) -> Floats:
    """The vectors at length one; a zero or non-finite one becomes nan: it is no vector."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(vectors, axis=-1, keepdims=True)
        made = vectors / np.where(length > 1e-9, length, np.nan)
    return made.astype(np.float32)
