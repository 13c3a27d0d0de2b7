"""`memory/vector.db`: the index on disk. Derived: it may be deleted at any time.

Several processes may read and write it at once (WAL, busy time-outs). A file that SQLite calls
damaged is set aside and made anew; another schema or normaliser means a rebuild, which keeps
the vectors, for they belong to the text and not to the rows.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar, cast

from letopis.errors import IndexBusy, IndexDamaged, SearchError
from letopis.model import terms

Kept = TypeVar("Kept")

SCHEMA_VERSION = f"3/{terms.VERSION}"
_BUSY_SECONDS, _SOON_SECONDS = 10.0, 0.2
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, size INTEGER NOT NULL,
    modified INTEGER NOT NULL, looked REAL NOT NULL, digest TEXT NOT NULL, offset INTEGER NOT NULL,
    session_id TEXT NOT NULL, key TEXT NOT NULL, persona TEXT NOT NULL, problem TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS source_session ON sources (session_id);
CREATE TABLE IF NOT EXISTS units (
    id INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL, section INTEGER NOT NULL, position INTEGER NOT NULL,
    n INTEGER NOT NULL, last INTEGER NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL,
    day TEXT NOT NULL, gives TEXT NOT NULL, heading TEXT NOT NULL, superseded INTEGER NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS unit_source ON units (source, position);
CREATE TABLE IF NOT EXISTS pieces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, unit INTEGER NOT NULL, length INTEGER NOT NULL, digest BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS piece_unit ON pieces (unit);
CREATE INDEX IF NOT EXISTS piece_digest ON pieces (digest);
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS chat_history (
    session TEXT NOT NULL, n INTEGER NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, tokens INTEGER NOT NULL,
    time TEXT NOT NULL, begins INTEGER NOT NULL, PRIMARY KEY (session, n)) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    terms, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co So'");
CREATE VIRTUAL TABLE IF NOT EXISTS places USING fts5vocab(words, instance);
"""
_TABLES = ("words", "places", "pieces", "units", "sources", "chat_history")


class Database:
    """One connection to the index of a workspace, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = self._opened()
        self._remembered: dict[object, tuple[object, object]] = {}

    def _opened(self) -> sqlite3.Connection:
        with contextlib.suppress(OSError):  # SQLite says what is wrong with the folder
            self.path.parent.mkdir(parents=True, exist_ok=True)
        deadline, damaged = time.monotonic() + _BUSY_SECONDS, 0
        while damaged < 3:
            connection = None
            try:
                connection = sqlite3.connect(
                    self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
                )
                prepare(connection)
                return connection
            except sqlite3.Error as error:
                if connection is not None:
                    connection.close()
                if _is_damage(error):
                    damaged += 1
                    self.set_aside()
                elif time.monotonic() > deadline or not _is_busy(error):
                    raise IndexBusy(f"the index {self.path} cannot be opened now ({error}); try again") from error
                else:
                    time.sleep(0.02)  # the change to WAL does not wait for other openers by itself
        raise IndexDamaged(f"the index {self.path} cannot be opened or made anew; delete it and try again")

    def set_aside(self) -> None:
        """Keep a damaged file beside the new one, and its companions with it."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for suffix in ("", "-wal", "-shm"):
            old = self.path.with_name(self.path.name + suffix)
            with contextlib.suppress(FileNotFoundError):
                os.replace(old, self.path.with_name(f"{self.path.name}.damaged-{stamp}{suffix}"))

    @contextlib.contextmanager
    def impatient(self) -> Iterator[None]:
        """Inside it a lock of another program is waited for no longer than a person notices."""
        self.connection.execute(f"PRAGMA busy_timeout = {int(_SOON_SECONDS * 1000)}")
        try:
            yield
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction; whatever fails inside it leaves no trace."""
        with translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                self.connection.rollback()
                raise
            self.connection.commit()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with translated(self.path):
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self.connection.rollback()

    def remembered(self, read: Callable[[sqlite3.Connection], Kept]) -> Kept:
        """What a reader makes of the database, made again only after somebody has written."""
        with translated(self.path):
            version = (self.connection.execute("PRAGMA data_version").fetchone()[0], self.connection.total_changes)
        kept = self._remembered.get(read)
        if kept is None or kept[0] != version:
            with self.reading() as connection:
                kept = self._remembered[read] = (version, read(connection))
        return cast(Kept, kept[1])

    def meta(self, name: str) -> str:
        """A fact about the index; empty where it is not known."""
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, name: str, value: str) -> None:
        """Note a fact about the index."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into ours: busy may succeed later, damaged will not."""
    try:
        yield
    except sqlite3.Error as error:
        if _is_busy(error):
            raise IndexBusy(f"the index {path} is busy; try again") from error
        if _is_damage(error):
            raise IndexDamaged(f"the index {path} is damaged ({error}); it is made anew at the next search") from error
        raise SearchError(f"the index {path} could not be used: {error}") from error


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _is_damage(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def prepare(connection: sqlite3.Connection, wal: bool = True) -> None:
    """Make the tables where they are missing, or of another version."""
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    found = connection.execute("SELECT name FROM sqlite_master WHERE name = 'meta'").fetchone()
    version = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() if found else None
    if version is not None and version[0] == SCHEMA_VERSION:
        return
    connection.execute("BEGIN EXCLUSIVE")
    again = connection.execute("SELECT name FROM sqlite_master WHERE name = 'meta'").fetchone()
    version = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone() if again else None
    if version is None or version[0] != SCHEMA_VERSION:
        _make_tables(connection, of_another_version=version is not None)
    connection.commit()


def _make_tables(connection: sqlite3.Connection, of_another_version: bool) -> None:
    if of_another_version:
        connection.execute("ALTER TABLE vectors RENAME TO vectors_before")
    for table in _TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in _SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    if of_another_version:
        connection.execute("INSERT INTO vectors (digest, vector) SELECT digest, vector FROM vectors_before")
        connection.execute("DROP TABLE vectors_before")
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", (SCHEMA_VERSION,))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('generation', '0')")
