"""The index of one workspace: synced before each search, asked by words and by meaning.

It never raises for any question: what went wrong is in the answer's status.
"""

import contextlib
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from letopis.errors import IndexDamaged, ModelError, SearchError
from letopis.index import chat_history, filters, meanings, rank, snapshot
from letopis.index.database import Database
from letopis.index.diversity import POOL, diverse
from letopis.index.hits import PHRASES_LOOKED_AT, hits_of, holding_phrases, is_only_phrases, phrases_of, words_of
from letopis.index.presence import Presence
from letopis.index.snapshot import Snapshot
from letopis.index.sync import Report, bump, reshaped, sync
from letopis.llm.embedding import Embedder
from letopis.model import terms
from letopis.model.search import Found, Query
from letopis.model.text import words
from letopis.model.windows import Row, fitting
from letopis.settings.tree import VectorMemorySettings
from letopis.store import Store

SYNC_SECONDS, NOTE_SECONDS = 0.2, 0.05
_COUNTS = (
    "SELECT count(*) FROM sources WHERE problem = ''",
    "SELECT count(*) FROM units",
    "SELECT count(*) FROM pieces",
    "SELECT count(*) FROM pieces p LEFT JOIN vectors v ON v.digest = p.digest "
    "WHERE v.digest IS NULL OR v.vector = zeroblob(length(v.vector))",
)
_LONGEST_QUESTION = 4_000
_SAID_AT_MOST = 400
_SAID = (
    "SELECT DISTINCT n FROM (SELECT u.n AS n FROM words w JOIN pieces p ON p.id = w.rowid "
    "JOIN units u ON u.id = p.unit JOIN sources s ON s.id = u.source "
    "WHERE words MATCH ? AND s.session_id = ? AND u.n < ? ORDER BY w.rowid DESC LIMIT ?)"
)
_MEANT = 1.5  # a unit without any of the words must be so many deviations nearer than the others


@dataclass(frozen=True, slots=True)
class Status:
    """What the index holds, and what it still lacks."""

    files: int
    units: int
    pieces: int
    without_vector: int
    embedder: str
    made_with: str
    problems: tuple[str, ...]


class Index:
    """Search over one workspace. Safe for several threads and processes."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store, self._embedder = store, embedder
        self._guard = threading.RLock()
        self._database: Database | None = None
        self._presence: Presence | None = None
        self._snapshot: Snapshot | None = None
        self.companion: object | None = None  # what a layer above keeps with the index
        self._plain: dict[tuple[str, ...], rank.Floats] = {}

    @property
    def path(self) -> Path:
        """The file of the index."""
        return self._store.workspace.memory / "vector.db"

    @property
    def lock_path(self) -> Path:
        """The lock that everyone who has the index open shares."""
        return self._store.workspace.internal / "locks" / "index.lock"

    # --- asking -----------------------------------------------------------------------------

    def search(self, query: Query) -> Found:
        """What the memory holds on the question, best first."""
        with self._guard:
            try:
                return self._search(query)
            except IndexDamaged:
                self._start_anew()
            except SearchError as error:
                return Found("error", problems=(str(error),))
            try:
                return self._search(query)
            except SearchError as error:
                return Found("error", problems=(str(error),))

    def _search(self, query: Query) -> Found:
        report = self._synced(SYNC_SECONDS)
        asked = terms.asked(query.text[:_LONGEST_QUESTION])
        if not asked:
            return Found("empty", problems=("the question holds nothing to look for",))
        problems = list(report.problems)
        database = self._opened()
        with database.reading() as connection:
            corpus = self._snapshot = snapshot.load(connection, self._snapshot)
            matches = [corpus.matches(connection, term) for term in asked]
            cosines = self._cosines(connection, corpus, query.text, problems)
            today = self._store.clock.now().date()
            hints = filters.hints(corpus, query.text, today) | filters.recency(corpus, self._options.recency, today)
            scores = rank.rank(corpus.corpus, matches, cosines, hints)
            eligible = self._eligible(corpus, query, scores, len(asked))
            chosen, total = self._chosen(connection, corpus, query, scores.total, np.flatnonzero(eligible))
            found = hits_of(connection, corpus, chosen[: max(0, query.k)], asked, matches, scores)
        status = "stale" if report.stale else "degraded" if problems else "ok" if found else "empty"
        relaxed = bool(found) and int(scores.held[eligible].max()) < len(asked)
        return Found(status, tuple(found), total, relaxed, tuple(problems))

    def _chosen(
        self, connection: sqlite3.Connection, corpus: Snapshot, query: Query, scores: rank.Floats, found: rank.Ints
    ) -> tuple[list[int], int]:
        """The units to show, in their order, and how many there are in all."""
        phrases, diversity = phrases_of(query.text), self._options.diversity
        wanted = max(query.k, PHRASES_LOOKED_AT if phrases else 0, POOL if diversity else 0)
        chosen = _ordered(corpus, scores, found, wanted)
        if diversity:
            pool = chosen[:POOL]
            words = words_of(connection, corpus, pool)
            chosen[:POOL] = diverse(pool, [float(scores[at]) for at in pool], words, diversity)
        if not phrases:
            return chosen, len(found)
        holding = holding_phrases(connection, corpus, phrases, chosen)
        if is_only_phrases(query.text):
            return holding, len(holding)
        return list(dict.fromkeys(holding + chosen)), len(found)

    @property
    def _options(self) -> VectorMemorySettings:
        return self._store.settings.vector_memory

    @staticmethod
    def _eligible(corpus: Snapshot, query: Query, scores: rank.Scores, asked: int) -> rank.Bools:
        """The units that may be shown: let through by the filters, and near a word or near in meaning.

        A message may be found by the words of its neighbours; a block of a note by its own.
        """
        near = scores.parts["words"] > 0
        near &= (scores.held > 0) | corpus.of_transcripts
        if "meaning" in scores.parts:
            near |= scores.parts["meaning"] >= _MEANT * rank.meaning_weight(asked)
        found: rank.Bools = near & filters.allowed(corpus, query)
        return found

    def _cosines(
        self, connection: sqlite3.Connection, corpus: Snapshot, question: str, problems: list[str]
    ) -> rank.Floats | None:
        """How near each piece is to the question; None where there are no vectors to compare."""
        if self._embedder is None or not len(corpus.columns.piece):
            return None
        made_with = self._opened().meta("embedder")
        if made_with and made_with != self._embedder.identity:
            problems.append("the vectors are another model's; `letopis index --rebuild` makes them anew")
            return None
        if not made_with:
            return None
        try:
            vector = self._embedder.queries([_without_names(question, filters.named(corpus, question))])[0]
        except ModelError as error:
            problems.append(f"searched by words only: {error}")
            return None
        held = corpus.vectors(connection, len(vector))
        if held.missing == len(corpus.columns.piece) or not np.isfinite(vector).all():
            return None
        return held.cosines(vector)

    def said(self, session_id: str, asked: Sequence[str], before: int) -> dict[int, int] | None:
        """How many of these terms each message of a session holds, by number; of a common term the newest only.

        None where the index does not have all of the session yet. Raises SearchError.
        """
        with self._conversations() as connection:
            if connection is None:
                return None
            quoted = ['"' + term.replace('"', '""') + '"' for term in asked]
            counts: dict[int, int] = {}
            for match in quoted:
                for (n,) in connection.execute(_SAID, (match, session_id, before, _SAID_AT_MOST)):
                    counts[n] = counts.get(n, 0) + 1
            for (n,) in connection.execute(_SAID, (" AND ".join(quoted), session_id, before, _SAID_AT_MOST)):
                counts[n] = len(quoted)
            return counts

    def holding(self, session_id: str, parts: Sequence[str], before: int) -> list[int] | None:
        """The messages of an open session that hold these parts letter for letter, newest first; None as in `said`."""
        with self._conversations() as connection:
            return None if connection is None else chat_history.holding(connection, session_id, parts, before)

    def tail(self, session_id: str, after: int, budget: int) -> Sequence[Row] | None:
        """The newest whole turns of an open session, after message `after`, within a budget; None as in `said`."""
        with self._conversations() as connection:
            if connection is None:
                return None
            return fitting(chat_history.newest_first(connection, session_id, after), budget)

    def note(self) -> None:
        """Take in what was just said; where the index cannot be used now, the next search takes it in."""
        if not self._guard.acquire(timeout=NOTE_SECONDS):
            return
        try:
            with contextlib.suppress(SearchError), self._opened().impatient():
                self._synced(NOTE_SECONDS)
        finally:
            self._guard.release()

    @property
    def has_vectors(self) -> bool:
        """Whether texts have vectors here."""
        return self._embedder is not None

    def meanings(self, session_id: str, numbers: Sequence[int]) -> dict[int, rank.Floats]:
        """The unit vectors of messages by number; what lacks one gets it, for the search too. Raises ModelError."""
        if self._embedder is None or not numbers:
            return {}
        with self._guard:
            self._synced(SYNC_SECONDS)
            ours = self._opened().meta("embedder") == self._embedder.identity
            known = meanings.known_of(self._opened(), session_id, numbers) if ours else None
        if known is not None:
            return known
        database = Database(self.path)  # a connection of its own: searches go on meanwhile
        try:
            return meanings.of_messages(database, self._embedder, session_id, numbers)
        finally:
            database.close()

    def embedded(self, texts: Sequence[str], make: bool = True) -> dict[str, rank.Floats]:
        """The unit vectors of texts by text; with `make` what lacks one gets it, and keeps it. Raises ModelError."""
        if self._embedder is None or not texts:
            return {}
        with self._guard:
            found = meanings.of_texts(self._opened(), self._embedder, texts, make=False)
        if make and len(found) < len(set(texts)):
            database = Database(self.path)  # a connection of its own: searches go on meanwhile
            try:
                with database.impatient():
                    return meanings.of_texts(database, self._embedder, texts, make=True)
            finally:
                database.close()
        return found

    def vectors(self, texts: Sequence[str]) -> list[list[float]] | None:
        """The vectors of texts as the embedder makes them, kept nowhere; None without one. Raises ModelError."""
        if self._embedder is None:
            return None
        rows: list[list[float]] = np.nan_to_num(self._embedder.passages(texts)).tolist()
        return rows

    def plain(self, texts: Sequence[str]) -> rank.Floats:
        """The unit vectors of some fixed texts, one row each, made once. Raises ModelError."""
        assert self._embedder is not None
        known = self._plain.get(tuple(texts))
        if known is None:
            known = self._plain[tuple(texts)] = rank.unit(self._embedder.passages(texts))
        return known

    @contextlib.contextmanager
    def _conversations(self) -> Iterator[sqlite3.Connection | None]:
        """The index as it is now, for what the transcript can answer too: nobody waits long for it."""
        with self._guard, self._opened().impatient():
            if self._synced(SYNC_SECONDS).stale:
                yield None
                return
            with self._opened().reading() as connection:
                yield connection

    # --- keeping it up to date ----------------------------------------------------------------

    def sync(self, limit: float | None = None) -> Report:
        """Bring the rows up to date with the files."""
        with self._guard:
            return self._synced(limit)

    def _synced(self, limit: float | None) -> Report:
        return sync(self._store, self._opened(), limit)

    def fill(
        self,
        progress: Callable[[int, int], None] = lambda done, total: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Give vectors to the pieces that lack one, in batches; returns how many were made.

        It can be stopped between batches and goes on where it stopped. Raises ModelError.
        """
        if self._embedder is None:
            return 0
        with self._guard:
            self._opened()
        database = Database(self.path)  # a connection of its own: searches go on meanwhile
        try:
            return meanings.fill(database, self._embedder, progress, stop)
        finally:
            database.close()

    def rebuild(self) -> Report:
        """Make the rows anew from the files; vectors of the same model and text are kept."""
        with self._guard:
            database = self._opened()
            with database.writing() as connection:
                for table in ("pieces", "units", "sources", "chat_history"):
                    connection.execute(f"DELETE FROM {table}")
                connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
                if self._embedder is not None and database.meta("embedder") != self._embedder.identity:
                    connection.execute("DELETE FROM vectors")
                    connection.execute("DELETE FROM meta WHERE name = 'embedder'")
                reshaped(connection)
                bump(connection)
            self._snapshot = None
            return self._synced(None)

    def status(self) -> Status:
        """What the index holds."""
        with self._guard:
            report = self._synced(None)
            database = self._opened()
            with database.reading() as connection:
                files, units, pieces, missing = (connection.execute(s).fetchone()[0] for s in _COUNTS)
            embedder = self._embedder.identity if self._embedder else ""
            return Status(files, units, pieces, missing, embedder, database.meta("embedder"), tuple(report.problems))

    def close(self) -> None:
        """Let go of the database."""
        with self._guard:
            if self._database is not None:
                self._database.close()
            if self._presence is not None:
                self._presence.leave()
            self._database = self._snapshot = self._presence = None

    def _opened(self) -> Database:
        if self._database is None or not self._database.path.exists():
            self.close()
            self._presence = Presence(self.lock_path)
            self._database = Database(self.path)
        return self._database

    def _start_anew(self) -> None:
        """Set a damaged database aside and make a new one from the files."""
        database = self._opened()
        database.set_aside()
        self.close()
        self._synced(None)


def _ordered(corpus: Snapshot, scores: rank.Floats, found: rank.Ints, wanted: int) -> list[int]:
    """The best of the units found, at least so many as wanted; ties in one fixed order."""
    own = np.round(scores[found], 5)
    if len(found) > wanted:
        best = own >= np.partition(own, len(own) - max(1, wanted))[len(own) - max(1, wanted)]
        found, own = found[best], own[best]
    order = np.lexsort((corpus.positions[found], corpus.tie_order(found), -own))
    return [int(at) for at in found[order]]


def _without_names(question: str, names: Sequence[str]) -> str:
    """The question as it is embedded: the names of speakers say nothing of what was said."""
    for name in sorted((part for n in names for part in words(n)), key=len, reverse=True):
        if len(name) > 2:
            question = re.sub(rf"\b{re.escape(name)}(?:'s)?\b", " ", question, flags=re.IGNORECASE)
    return " ".join(question.split())
