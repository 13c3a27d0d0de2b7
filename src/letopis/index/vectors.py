"""The vectors of the pieces in memory, and how near each of them is to a question.

The matrix lies component by component, which is the faster way to compare one question with
all. Centring moves no vector: with s the part of the mean that is taken out,
(v - s)·q / |v - s| comes from v·q, v·s, v·v and s·s, so a new vector costs little.
"""

import sqlite3

import numpy as np

from letopis.index.rank import Floats, Ints, unit

CENTRING = 50
_READ_AT_ONCE = 4_000
_NEW_VECTORS = "SELECT p.id, v.vector FROM vectors v JOIN pieces p ON p.digest = v.digest WHERE v.id > ?"
_NEW_PIECES = "SELECT p.id, v.vector FROM pieces p JOIN vectors v ON v.digest = p.digest WHERE p.id > ? AND v.id <= ?"


class Vectors:
    """Grows with the database; the columns of pieces that are gone stay until they are many."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.missing = 0
        self._matrix = np.zeros((size, 0), np.float32)
        self._square = np.zeros(0, np.float32)
        self._pieces = np.zeros(0, np.int64)
        self._seen = (0, 0)
        self._column = np.zeros(0, np.int64)
        self._shift = np.zeros(size, np.float32)
        self._scale = np.zeros(0, np.float32)

    def wasteful(self, pieces: int) -> bool:
        """Whether most of the columns belong to pieces that are gone."""
        return len(self._pieces) > 2 * pieces + 1_000

    def update(self, connection: sqlite3.Connection, pieces: Ints) -> None:
        """Read what has come since, and answer for these pieces (ids) in this order from now on."""
        seen_vector, seen_piece = self._seen
        self._reserve(len(pieces))
        self._read(connection.execute(_NEW_VECTORS, (seen_vector,)))
        if seen_vector:
            self._read(connection.execute(_NEW_PIECES, (seen_piece, seen_vector)))
        newest = connection.execute("SELECT max(id) FROM vectors").fetchone()[0]
        self._seen = int(newest or 0), int(pieces.max()) if len(pieces) else 0
        self._place(pieces)

    def _read(self, rows: sqlite3.Cursor) -> None:
        while some := rows.fetchmany(_READ_AT_ONCE):
            fitting = [row for row in some if len(row[1]) == self.size * 2]
            data = np.frombuffer(b"".join(row[1] for row in fitting), np.float16).reshape(-1, self.size)
            data = data.astype(np.float32)
            square = np.einsum("ij,ij->i", data, data)
            usable = np.isfinite(square) & (square > 1e-9)
            ids = np.fromiter((row[0] for row in fitting), np.int64, len(fitting))
            self._append(ids[usable], data[usable], square[usable])

    def _append(self, ids: Ints, data: Floats, square: Floats) -> None:
        held, more = len(self._pieces), len(ids)
        self._reserve(held + more)
        self._matrix[:, held : held + more] = data.T
        self._pieces = np.concatenate([self._pieces, ids])
        self._square = np.concatenate([self._square, square])

    def _reserve(self, columns: int) -> None:
        if columns > self._matrix.shape[1]:
            wider = np.zeros((self.size, columns + columns // 4 + 64), np.float32)
            wider[:, : len(self._pieces)] = self._matrix[:, : len(self._pieces)]
            self._matrix = wider

    def _place(self, pieces: Ints) -> None:
        """Where the vector of each piece lies, and what centring makes of their lengths."""
        order = np.argsort(self._pieces, kind="stable")
        at = np.searchsorted(self._pieces[order], pieces, side="right") - 1
        column = order[at] if len(order) else np.zeros(len(pieces), np.int64)
        known = (at >= 0) & (self._pieces[column] == pieces) if len(order) else np.zeros(len(pieces), bool)
        self._column, self.missing = np.where(known, column, 0), int((~known).sum())
        matrix = self._matrix[:, : len(self._pieces)]
        weights = np.bincount(column[known], minlength=len(self._pieces)).astype(np.float32)
        self._shift = matrix @ weights / np.float32(known.sum() + CENTRING)
        length = self._square - 2 * (self._shift @ matrix) + self._shift @ self._shift
        scale = 1 / np.sqrt(np.maximum(length, np.float32(1e-12)))
        self._scale = np.where(known, scale[self._column] if len(scale) else np.nan, np.nan).astype(np.float32)

    def cosines(self, question: Floats) -> Floats:
        """How near each piece is to the question, both centred; nan where a piece has no vector."""
        asked = unit(question - self._shift)
        if not len(self._pieces):
            return self._scale
        made: Floats = (asked @ self._matrix[:, : len(self._pieces)])[self._column]
        made -= asked @ self._shift
        made *= self._scale
        return made
