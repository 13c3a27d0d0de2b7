"""From ranked units to hits: their text, where it matched, and why."""

import re
import sqlite3
from collections.abc import Sequence

import numpy as np

from letopis.index import rank
from letopis.index.snapshot import Snapshot
from letopis.model import secrets, terms
from letopis.model.search import Hit
from letopis.model.text import normalise, shorten

SHOWN = 900
_PHRASE = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
PHRASES_LOOKED_AT = 2_000
_COLUMNS = "id, n, last, kind, role, day, heading, superseded, text"


def phrases_of(question: str) -> list[str]:
    """What a question quotes, folded."""
    phrases = (normalise(next(filter(None, groups))).strip() for groups in _PHRASE.findall(question))
    return [phrase for phrase in phrases if phrase]


def is_only_phrases(question: str) -> bool:
    """Whether a question is nothing but quotations: such units alone answer it."""
    return not terms.terms(_PHRASE.sub(" ", question))


def holding_phrases(
    connection: sqlite3.Connection, corpus: Snapshot, phrases: Sequence[str], chosen: Sequence[int]
) -> list[int]:
    """Of the chosen units those that hold every phrase, word for word."""
    texts = {row[0]: normalise(str(row[8])) for row in _rows(connection, corpus, chosen)}
    ids = corpus.unit_ids
    return [at for at in chosen if all(phrase in texts.get(int(ids[at]), "") for phrase in phrases)]


def words_of(connection: sqlite3.Connection, corpus: Snapshot, chosen: Sequence[int]) -> list[frozenset[str]]:
    """The different words of each unit."""
    texts = {row[0]: str(row[8]) for row in _rows(connection, corpus, chosen)}
    ids = corpus.unit_ids
    return [frozenset(terms.terms(texts.get(int(ids[at]), ""))) for at in chosen]


def hits_of(
    connection: sqlite3.Connection,
    corpus: Snapshot,
    chosen: Sequence[int],
    asked: Sequence[str],
    matches: Sequence[rank.Matches],
    scores: rank.Scores,
) -> list[Hit]:
    """The hits of these units, in this order."""
    rows = {row[0]: row for row in _rows(connection, corpus, chosen)}
    ids = corpus.unit_ids
    holding = [np.unique(corpus.corpus.piece_unit[match.pieces]) for match in matches]
    out = []
    for at in chosen:
        row = rows.get(int(ids[at]))
        if row is None:
            continue
        matched = tuple(term for term, units in zip(asked, holding, strict=True) if _holds(units, at))
        out.append(_hit(corpus, at, row, matched, scores))
    return out


def _holds(units: rank.Ints, at: int) -> bool:
    place = int(np.searchsorted(units, at))
    return place < len(units) and int(units[place]) == at


def _rows(connection: sqlite3.Connection, corpus: Snapshot, chosen: Sequence[int]) -> list[tuple[object, ...]]:
    ids = [int(corpus.unit_ids[at]) for at in chosen]
    out: list[tuple[object, ...]] = []
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ",".join("?" * len(part))
        out += connection.execute(f"SELECT {_COLUMNS} FROM units WHERE id IN ({marks})", part).fetchall()
    return out


def _hit(corpus: Snapshot, at: int, row: tuple[object, ...], matched: tuple[str, ...], scores: rank.Scores) -> Hit:
    _, n, last, kind, role, day, heading, superseded, text = row
    source = corpus.source_of(at)
    of_session = source.origin == "transcript"
    parts = {name: round(float(values[at]), 4) for name, values in scores.parts.items()}
    return Hit(
        text=secrets.redact(_around(str(text), set(matched))),
        kind=str(kind),
        score=float(scores.total[at]),
        matched=matched,
        date=str(day),
        path="" if of_session else source.name,
        lines=(0, 0) if of_session else (int(str(n)), int(str(last))),
        heading=str(heading),
        session_id=source.session_id if of_session else "",
        n=int(str(n)) if of_session else 0,
        role=str(role),
        key=source.key,
        superseded=bool(superseded),
        parts=parts,
    )


def _around(text: str, matched: set[str]) -> str:
    """The part of a long text where most of the words stand."""
    if len(text) <= SHOWN:
        return text
    places = [m.start() for m in re.finditer(r"[^\W_]+", text) if matched.intersection(terms.terms(m[0]))]
    if not places:
        return shorten(text, SHOWN)
    window = SHOWN * 2 // 3
    start = max(places, key=lambda place: sum(place <= other < place + window for other in places))
    start = max(0, start - SHOWN // 6)
    return ("…" if start else "") + shorten(text[start:], SHOWN)
