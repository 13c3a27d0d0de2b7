"""The ranking rule: words with their neighbourhood, meaning, session, speaker, role, date.

Knows numbers and arrays; knows no file and no database. A *unit* is a message, or a block of a
note; its *pieces* are at most 600 characters; a *group* is its session, or its section.
"""

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
COVER_POWER = 1.3
MEANING, SESSION, SPEAKER, ROLE, DATE = 1 / 12, 0.4, 0.3, 0.1, 0.2
MEANING_NEIGHBOURS = ((1, 0.1), (2, 0.035))
CENTRING = 50


@dataclass(frozen=True, slots=True)
class Corpus:
    """What ranking must know of the units and pieces; both are in one fixed order.

    `near[d]` are the units d before and d after each unit in its group, -1 where there is none.
    """

    piece_unit: Ints
    piece_length: Floats
    unit_group: Ints
    unit_length: Floats
    group_length: Floats
    near: dict[int, tuple[Ints, Ints]]
    pieces_of_unit: Ints  # the first piece of each unit, for reductions

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.unit_group)


@dataclass(frozen=True, slots=True)
class Matches:
    """Where one term stands: pieces and how often."""

    pieces: Ints
    counts: Floats


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each unit, the part of each signal in it, and how many of the terms it holds itself."""

    total: Floats
    parts: dict[str, Floats]
    held: Ints


def rank(
    corpus: Corpus,
    terms: list[Matches],
    cosines: Floats | None,
    speaker: Bools,
    role: Bools,
    date: Bools,
) -> Scores:
    """Score every unit. `cosines` are by piece, nan where a piece has no vector; None without meaning."""
    cover, session = _words(corpus, terms)
    parts = {"words": cover**COVER_POWER, "session": SESSION * session}
    if cosines is not None:
        parts["meaning"] = (MEANING * _meaning(corpus, cosines)).astype(np.float32)
    parts["speaker"] = (SPEAKER * speaker).astype(np.float32)
    parts["role"] = (ROLE * role).astype(np.float32)
    parts["date"] = (DATE * date).astype(np.float32)
    total: Floats = np.stack(list(parts.values())).sum(axis=0, dtype=np.float32)
    held = np.zeros(corpus.units, np.int64)
    for term in terms:
        held[np.unique(corpus.piece_unit[term.pieces])] += 1
    return Scores(total, parts, held)


def _words(corpus: Corpus, terms: list[Matches]) -> tuple[Floats, Floats]:
    """The share of the question's idf mass that each unit covers, and each unit's session.

    Only what a term touches is computed: its units, their neighbours, and the pieces of these.
    """
    units, groups = corpus.units, len(corpus.group_length)
    by_piece = np.zeros(len(corpus.piece_unit), np.float32)
    by_group = np.zeros(groups, np.float32)
    mass = group_mass = 0.0
    norms = _norms(corpus.piece_length), _norms(corpus.unit_length), _norms(corpus.group_length)
    alone = 1 + LONE * _missing(corpus)
    for term in terms:
        owners = corpus.piece_unit[term.pieces]
        counts = np.bincount(owners, term.counts, units).astype(np.float32)
        present = np.flatnonzero(counts)
        idf = _idf(units, len(present))
        mass += idf
        around = _around(corpus, present, counts[present] / norms[1][present])
        own = np.zeros(len(corpus.piece_unit), np.float32)
        own[term.pieces] = term.counts / norms[0][term.pieces] * alone[owners]
        own += around[corpus.piece_unit]
        touched = np.flatnonzero(own)
        field = own[touched]
        by_piece[touched] += idf * (field / (field + K1))
        in_group = np.bincount(corpus.unit_group[present], counts[present], groups).astype(np.float32)
        group_idf = _idf(groups, int(np.count_nonzero(in_group)))
        group_mass += group_idf
        field = in_group / norms[2]
        by_group += group_idf * (field / (field + K1))
    by_piece /= mass or 1.0
    session = by_group[corpus.unit_group] / (group_mass or 1.0)
    return (np.maximum.reduceat(by_piece, corpus.pieces_of_unit) if units else by_piece), session


def _norms(lengths: Floats) -> Floats:
    average = float(lengths.mean()) if len(lengths) else 1.0
    return (LENGTH_FLOOR + (1 - LENGTH_FLOOR) * lengths / (average or 1.0)).astype(np.float32)


def _idf(count: int, present: int) -> float:
    return float(np.log1p((count - present + 0.5) / (present + 0.5)))


def _around(corpus: Corpus, present: Ints, values: Floats) -> Floats:
    """What the units that have a term give to their neighbours."""
    out = np.zeros(corpus.units, np.float32)
    for distance, weight in NEIGHBOURS:
        for near in corpus.near[distance]:
            targets = near[present]
            there = targets >= 0
            out[targets[there]] += weight * values[there]  # no two units have the same neighbour on one side
    return out


def _missing(corpus: Corpus) -> Floats:
    """The weight of the neighbours that each unit lacks."""
    out = np.zeros(corpus.units, np.float32)
    for distance, weight in NEIGHBOURS:
        for near in corpus.near[distance]:
            out += weight * (near < 0)
    return out


def _meaning(corpus: Corpus, cosines: Floats) -> Floats:
    """Cosines, the best piece of each unit, as z-scores over the store with their neighbours."""
    known = np.where(np.isfinite(cosines), cosines, -np.inf).astype(np.float32)
    z = _z(np.maximum.reduceat(known, corpus.pieces_of_unit) if corpus.units else known)
    around = z.copy()
    for distance, weight in MEANING_NEIGHBOURS:
        for near in corpus.near[distance]:
            around += weight * np.where(near >= 0, z[near], z)
    return _z(around)


def _z(values: Floats) -> Floats:
    finite = np.isfinite(values)
    if not finite.any():
        return np.zeros(len(values), np.float32)
    mean, deviation = float(values[finite].mean()), float(values[finite].std())
    return np.where(finite, (values - mean) / (deviation or 1.0), 0.0).astype(np.float32)


def centred(vectors: Floats) -> tuple[Floats, Floats]:
    """Unit vectors with n/(n+50) of their mean taken out, and that part of the mean."""
    count = len(vectors)
    if not count:
        return vectors, np.zeros(vectors.shape[1] if vectors.ndim > 1 else 0, np.float32)
    shift = (vectors.mean(axis=0, dtype=np.float64) * count / (count + CENTRING)).astype(np.float32)
    return unit(vectors - shift), shift


def unit(vectors: Floats) -> Floats:
    """The vectors at length one; a zero or non-finite one becomes nan: it is no vector."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(vectors, axis=-1, keepdims=True)
        made = vectors / np.where(length > 1e-9, length, np.nan)
    return made.astype(np.float32)
