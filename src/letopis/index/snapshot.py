"""The index in memory: the arrays that ranking needs, as of one generation of the database.

Built from the rows once, and brought up to date when the generation moves. What a search does
not need is not loaded: without vectors only small numbers are held, a few dozen bytes a piece.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from letopis.index import rank
from letopis.index.rank import Corpus, Floats, Ints, Matches

Texts = NDArray[Any]
_TERMS_KEPT = 4_000


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows of the index as columns, in the order of their ids."""

    unit: Ints
    source: Ints
    section: Ints
    position: Ints
    kind: Texts
    role: Texts
    speaker: Texts
    day: Texts
    piece: Ints
    owner: Ints
    length: Floats

    @classmethod
    def read(cls, connection: sqlite3.Connection, after_unit: int = 0, after_piece: int = 0) -> "Columns":
        """The rows with higher ids than these."""
        units = connection.execute(
            "SELECT id, source, section, position, kind, role, speaker, day FROM units WHERE id > ? ORDER BY id",
            (after_unit,),
        ).fetchall()
        pieces = connection.execute(
            "SELECT id, unit, length FROM pieces WHERE id > ? ORDER BY id", (after_piece,)
        ).fetchall()
        numbers = np.array([u[:4] for u in units], np.int64).reshape(-1, 4)
        texts = np.array([u[4:] for u in units], object).reshape(-1, 4)
        shapes = np.array(pieces, np.int64).reshape(-1, 3)
        unit, source, section, position = numbers.T
        kind, role, speaker, day = texts.T
        piece, owner, length = shapes.T
        return cls(unit, source, section, position, kind, role, speaker, day, piece, owner, length.astype(np.float32))

    def with_more(self, more: "Columns") -> "Columns":
        """These rows and newer ones."""
        return Columns(*(np.concatenate([getattr(self, n), getattr(more, n)]) for n in self.__dataclass_fields__))


@dataclass(slots=True)
class Vectors:
    """The vectors of all pieces, centred; rows without one are nan."""

    matrix: Floats
    shift: Floats
    missing: int


@dataclass(frozen=True, slots=True)
class Source:
    """The file that units come from."""

    origin: str
    name: str
    session_id: str
    key: str
    persona: str


class Snapshot:
    """The corpus as of a generation, for reading only.

    Units stand in the order of their source, section and position, pieces in that of their units.
    """

    def __init__(self, generation: int, columns: Columns, sources: Mapping[int, Source]) -> None:
        self.generation, self.columns, self.sources = generation, columns, sources
        self.unit_order = np.lexsort((columns.unit, columns.position, columns.section, columns.source))
        place = np.empty(len(columns.unit), np.int64)
        place[self.unit_order] = np.arange(len(columns.unit))
        at = np.searchsorted(columns.unit, columns.owner)
        owner = place[at] if len(at) else np.zeros(0, np.int64)
        self._piece_order = np.argsort(owner, kind="stable")
        self._piece_place = np.empty(len(owner), np.int64)
        self._piece_place[self._piece_order] = np.arange(len(owner))
        self.corpus = self._corpus(owner[self._piece_order])
        self._terms: dict[str, Matches] = {}
        self._vectors: Vectors | None = None

    def _corpus(self, owner: Ints) -> Corpus:
        columns, order, count = self.columns, self.unit_order, len(self.unit_order)
        source, section = columns.source[order], columns.section[order]
        starts = np.ones(count, bool)
        starts[1:] = (source[1:] != source[:-1]) | (section[1:] != section[:-1])
        group = np.cumsum(starts) - 1
        lengths = columns.length[self._piece_order]
        unit_length = np.bincount(owner, lengths, count).astype(np.float32)
        groups = int(group[-1]) + 1 if count else 0
        return Corpus(
            owner,
            lengths,
            group,
            unit_length,
            np.bincount(group, unit_length, groups).astype(np.float32),
            {distance: _near(group, distance) for distance, _ in rank.NEIGHBOURS},
            np.searchsorted(owner, np.arange(count)),
        )

    def column(self, name: str) -> Texts:
        """A text column of the units, in their order."""
        made: Texts = getattr(self.columns, name)[self.unit_order]
        return made

    @cached_property
    def unit_ids(self) -> Ints:
        """The id of each unit."""
        return self.columns.unit[self.unit_order]

    @cached_property
    def speakers(self) -> Texts:
        """Who speaks each unit."""
        return self.column("speaker")

    @cached_property
    def roles(self) -> Texts:
        """In which role each unit was said."""
        return self.column("role")

    @cached_property
    def days(self) -> Texts:
        """The day of each unit."""
        return self.column("day")

    @cached_property
    def unit_source(self) -> Ints:
        """The source of each unit."""
        return self.columns.source[self.unit_order]

    @cached_property
    def tie_order(self) -> Ints:
        """Where a unit stands among equals: by its file or session and its place there, whenever it was indexed."""
        names = {number: source.session_id or source.name for number, source in self.sources.items()}
        rank_of = {number: at for at, number in enumerate(sorted(names, key=lambda number: names[number]))}
        sources = np.array([rank_of.get(int(number), 0) for number in self.unit_source], np.int64)
        places = self.columns.position[self.unit_order]
        order = np.lexsort((places, sources))
        out = np.empty(len(order), np.int64)
        out[order] = np.arange(len(order))
        return out

    @cached_property
    def of_transcripts(self) -> NDArray[np.bool_]:
        """Which units are messages."""
        sources = [number for number, source in self.sources.items() if source.origin == "transcript"]
        return np.isin(self.unit_source, np.array(sources, np.int64))

    @cached_property
    def speaker_names(self) -> list[str]:
        """The names of everyone who speaks."""
        return sorted({str(name) for name in self.columns.speaker if name})

    def matches(self, connection: sqlite3.Connection, term: str) -> Matches:
        """Where a term stands; kept for the next question."""
        found = self._terms.get(term)
        if found is None:
            rows = connection.execute("SELECT doc FROM places WHERE term = ?", (term,)).fetchall()
            docs = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            ids, counts = np.unique(docs, return_counts=True)
            at, inside = self._places(ids)
            found = Matches(at, counts[inside].astype(np.float32))
            if len(self._terms) > _TERMS_KEPT:
                self._terms.clear()
            self._terms[term] = found
        return found

    def _places(self, piece_ids: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Where these pieces stand, and which of them the snapshot has."""
        at = np.searchsorted(self.columns.piece, piece_ids)
        inside = at < len(self.columns.piece)
        inside[inside] = self.columns.piece[at[inside]] == piece_ids[inside]
        return self._piece_place[at[inside]], inside

    def vectors(self, connection: sqlite3.Connection, size: int) -> Vectors:
        """The vectors of the pieces, loaded when a question first needs them."""
        if self._vectors is None:
            matrix = np.full((len(self.columns.piece), size), np.nan, np.float32)
            cursor = connection.execute(
                "SELECT p.id, v.vector FROM pieces p JOIN vectors v ON v.digest = p.digest ORDER BY p.id"
            )
            while rows := [row for row in cursor.fetchmany(10_000) if len(row[1]) == size * 2]:
                at, inside = self._places(np.fromiter((row[0] for row in rows), np.int64, len(rows)))
                data = np.frombuffer(b"".join(row[1] for row in rows), np.float16).reshape(len(rows), size)
                matrix[at] = data[inside]
            there = np.isfinite(matrix).all(axis=1) & (np.abs(matrix).sum(axis=1) > 1e-6)
            made, shift = rank.centred(matrix[there])
            matrix[there], matrix[~there] = made, np.nan
            self._vectors = Vectors(matrix, shift, int((~there).sum()))
        return self._vectors


def load(connection: sqlite3.Connection, before: Snapshot | None) -> Snapshot:
    """The snapshot of the database as it is now; where rows were only added, only they are read."""
    facts = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('generation', 'reshaped')").fetchall())
    generation, reshaped = int(facts.get("generation", 0)), int(facts.get("reshaped", 0))
    if before is not None and before.generation == generation:
        return before
    if before is not None and reshaped <= before.generation:
        old = before.columns
        last = (int(old.unit[-1]) if len(old.unit) else 0, int(old.piece[-1]) if len(old.piece) else 0)
        columns = old.with_more(Columns.read(connection, *last))
    else:
        columns = Columns.read(connection)
    rows = connection.execute("SELECT id, origin, name, session_id, key, persona FROM sources")
    return Snapshot(generation, columns, {row[0]: Source(*row[1:]) for row in rows})


def _near(group: Ints, distance: int) -> tuple[Ints, Ints]:
    """The unit so many places before, and after, in the same group; -1 where there is none."""
    at = np.arange(len(group))
    before, after = at - distance, at + distance
    same_before = (before >= 0) & (group[np.maximum(before, 0)] == group)
    same_after = (after < len(group)) & (group[np.minimum(after, max(0, len(group) - 1))] == group)
    return np.where(same_before, before, -1), np.where(same_after, after, -1)
