"""The index in memory: the arrays that ranking needs, as of one generation of the database.

Built from the rows once, and brought up to date when the generation moves. What a search does
not need is not loaded: without vectors only small numbers are held, a few dozen bytes a piece.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from letopis.index.rank import Bools, Corpus, Floats, Ints, Matches
from letopis.index.vectors import Vectors

_TERMS_KEPT = 4_000
_UNITS = "SELECT id, source, section, position, kind, role, speaker, day, gives FROM units WHERE id > ? ORDER BY id"
_PIECES = "SELECT id, unit, length FROM pieces WHERE id > ? ORDER BY id"


class Vocabulary:
    """Numbers for the few texts that many rows share."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def numbers(self, texts: Iterable[str]) -> Ints:
        """The number of each text."""
        known = self._numbers
        for text in set(texts := list(texts)) - known.keys():
            known[text] = len(self.texts)
            self.texts.append(text)
        return np.fromiter((known[text] for text in texts), np.int64, len(texts))

    def which(self, fits: Callable[[str], bool]) -> Bools:
        """Of each number, whether its text fits."""
        return np.fromiter((fits(text) for text in self.texts), bool, len(self.texts))


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows of the index as columns, in the order of their ids; texts are numbers of the vocabulary."""

    unit: Ints
    source: Ints
    section: Ints
    position: Ints
    kind: Ints
    role: Ints
    speaker: Ints
    day: Ints
    gives: Ints
    piece: Ints
    owner: Ints
    length: Floats

    @classmethod
    def read(
        cls, connection: sqlite3.Connection, vocabulary: Vocabulary, after_unit: int = 0, after_piece: int = 0
    ) -> "Columns":
        """The rows with higher ids than these."""
        units = list(zip(*connection.execute(_UNITS, (after_unit,)).fetchall(), strict=True)) or [()] * 9
        numbers = (np.array(column, np.int64) for column in units[:4])
        texts = (vocabulary.numbers(column) for column in units[4:])
        pieces = np.array(connection.execute(_PIECES, (after_piece,)).fetchall(), np.int64).reshape(-1, 3)
        piece, owner, length = np.ascontiguousarray(pieces.T)
        unit, source, section, position = numbers
        kind, role, speaker, day, gives = texts
        lengths = length.astype(np.float32)
        return cls(unit, source, section, position, kind, role, speaker, day, gives, piece, owner, lengths)

    def brought_up_to_date(self, connection: sqlite3.Connection, vocabulary: Vocabulary, gone: bool) -> "Columns":
        """These rows without what is gone, and with what is new; ids are never given twice."""
        last = [int(ids[-1]) if len(ids) else 0 for ids in (self.unit, self.piece)]
        old = self._left(connection) if gone else self
        more = Columns.read(connection, vocabulary, *last)
        return Columns(*(np.concatenate([getattr(old, n), getattr(more, n)]) for n in self.__dataclass_fields__))

    def _left(self, connection: sqlite3.Connection) -> "Columns":
        kept = []
        for table, ids in (("units", self.unit), ("pieces", self.piece)):
            rows = connection.execute(f"SELECT id FROM {table}").fetchall()
            kept.append(np.isin(ids, np.fromiter((row[0] for row in rows), np.int64, len(rows))))
        names = list(self.__dataclass_fields__)
        return Columns(*(getattr(self, n)[kept[at > 8]] for at, n in enumerate(names)))


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

    def __init__(
        self, generation: int, columns: Columns, vocabulary: Vocabulary, sources: Mapping[int, Source]
    ) -> None:
        self.generation, self.columns, self.vocabulary, self.sources = generation, columns, vocabulary, sources
        self._unit_order = np.lexsort((columns.unit, columns.position, columns.section, columns.source))
        place = np.empty(len(columns.unit), np.int64)
        place[self._unit_order] = np.arange(len(columns.unit))
        owner = place[np.searchsorted(columns.unit, columns.owner)]
        self._piece_order = np.argsort(owner, kind="stable")
        self._piece_place = np.empty(len(owner), np.int64)
        self._piece_place[self._piece_order] = np.arange(len(owner))
        source, section = columns.source[self._unit_order], columns.section[self._unit_order]
        starts = np.ones(len(source), bool)
        starts[1:] = (source[1:] != source[:-1]) | (section[1:] != section[:-1])
        self._group_source = source[starts]
        self.corpus = Corpus.of(owner[self._piece_order], columns.length[self._piece_order], np.cumsum(starts) - 1)
        self._terms: dict[str, Matches] = {}
        self._vectors: Vectors | None = None
        self._vectors_placed = False

    @cached_property
    def unit_ids(self) -> Ints:
        """The id of each unit."""
        return self.columns.unit[self._unit_order]

    @cached_property
    def positions(self) -> Ints:
        """Where each unit stands in its source: for a message, its n."""
        return self.columns.position[self._unit_order]

    def source_of(self, unit: int) -> Source:
        """The file of a unit."""
        return self.sources[int(self._group_source[self.corpus.unit_group[unit]])]

    def those(self, column: str, fits: Callable[[str], bool]) -> Bools:
        """The units whose kind, role, speaker, day or possible answer fits."""
        return self.vocabulary.which(fits)[self.numbers(column)]

    def numbers(self, column: str) -> Ints:
        """A text column of the units, as numbers of the vocabulary."""
        made: Ints = getattr(self.columns, column)[self._unit_order]
        return made

    def of_sources(self, fits: Callable[[Source], bool]) -> Bools:
        """The units whose source fits."""
        fitting = {number for number, source in self.sources.items() if fits(source)}
        groups = np.fromiter((int(number) in fitting for number in self._group_source), bool, len(self._group_source))
        return self.corpus.by_unit(groups).astype(bool, copy=False)

    @cached_property
    def of_transcripts(self) -> Bools:
        """Which units are messages."""
        return self.of_sources(lambda source: source.origin == "transcript")

    def tie_order(self, units: Ints) -> Ints:
        """Keys of these units by their file or session, whenever it was indexed."""
        names = {number: source.session_id or source.name for number, source in self.sources.items()}
        ranks = {number: at for at, number in enumerate(sorted(names, key=lambda number: names[number]))}
        groups = np.fromiter((ranks[int(n)] for n in self._group_source), np.int64, len(self._group_source))
        return groups[self.corpus.unit_group[units]]

    @cached_property
    def speaker_names(self) -> list[str]:
        """The names of everyone who speaks."""
        return sorted(filter(None, (self.vocabulary.texts[number] for number in np.unique(self.columns.speaker))))

    def matches(self, connection: sqlite3.Connection, term: str) -> Matches:
        """Where a term stands; kept for the next question."""
        found = self._terms.get(term)
        if found is None:
            text = connection.execute("SELECT group_concat(doc) FROM places WHERE term = ?", (term,)).fetchone()[0]
            ids, counts = np.unique(np.fromstring(text or "", np.int64, sep=","), return_counts=True)
            at = np.searchsorted(self.columns.piece, ids)
            inside = at < len(self.columns.piece)
            inside[inside] = self.columns.piece[at[inside]] == ids[inside]
            places = self._piece_place[at[inside]]
            order = np.argsort(places)
            found = Matches(places[order], counts[inside][order].astype(np.float32))
            if len(self._terms) > _TERMS_KEPT:
                self._terms.clear()
            self._terms[term] = found
        return found

    def vectors(self, connection: sqlite3.Connection, size: int) -> Vectors:
        """The vectors of the pieces; read when a question first needs them, and then as they come."""
        held = self._vectors
        if held is None or held.size != size or held.wasteful(len(self._piece_order)):
            held, self._vectors_placed = Vectors(size), False
        if not self._vectors_placed:
            held.update(connection, self.columns.piece[self._piece_order])
        self._vectors, self._vectors_placed = held, True
        return held

    def take_over(self, before: "Snapshot") -> None:
        """Go on with the vectors that an older snapshot has read."""
        self._vectors, before._vectors = before._vectors, None


def load(connection: sqlite3.Connection, before: Snapshot | None) -> Snapshot:
    """The snapshot of the database as it is now; what the one before has read is not read again."""
    facts = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('generation', 'reshaped')").fetchall())
    generation, reshaped = int(facts.get("generation", 0)), int(facts.get("reshaped", 0))
    if before is not None and before.generation == generation:
        return before
    vocabulary = before.vocabulary if before is not None else Vocabulary()
    if before is None:
        columns = Columns.read(connection, vocabulary)
    else:
        columns = before.columns.brought_up_to_date(connection, vocabulary, reshaped > before.generation)
    rows = connection.execute("SELECT id, origin, name, session_id, key, persona FROM sources")
    made = Snapshot(generation, columns, vocabulary, {row[0]: Source(*row[1:]) for row in rows})
    if before is not None:
        made.take_over(before)
    return made
