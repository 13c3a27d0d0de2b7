"""Makes the index file small again: a verified copy with the live rows only, swapped in at once.

No model is called and no source is read. The file that was replaced stays beside the new one as
a dated backup, byte for byte, so the disk has room again only when a person removes it.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from letopis.errors import IndexDamaged
from letopis.index.database import Database, prepare, translated
from letopis.index.presence import Presence
from letopis.index.sync import pieces_of
from letopis.model import names, terms

_SAMPLES = 50
_TABLES = ("meta", "sources", "units", "pieces", "chat_history")
_LIVE_VECTORS = (
    "SELECT digest, vector FROM {0}vectors WHERE digest IN (SELECT digest FROM {0}pieces) "
    "AND vector <> zeroblob(length(vector))"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What compaction would keep and drop. Sizes in bytes."""

    path: str
    size: int
    units: int
    pieces: int
    vectors: int
    unused_vectors: int
    empty_vectors: int
    free_pages: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """What compaction did; the backup holds the old file."""

    plan: Plan
    size: int
    backup: str


def plan(path: Path) -> Plan:
    """Look, and change nothing."""
    database = Database(path)
    try:
        return _planned(database.connection, path)
    finally:
        database.close()


def _planned(connection: sqlite3.Connection, path: Path) -> Plan:
    def count(statement: str) -> int:
        return int(connection.execute(statement).fetchone()[0])

    return Plan(
        path=path.name,
        size=path.stat().st_size,
        units=count("SELECT count(*) FROM units"),
        pieces=count("SELECT count(*) FROM pieces"),
        vectors=count(f"SELECT count(*) FROM ({_LIVE_VECTORS.format('')})"),
        unused_vectors=count("SELECT count(*) FROM vectors WHERE digest NOT IN (SELECT digest FROM pieces)"),
        empty_vectors=count("SELECT count(*) FROM vectors WHERE vector = zeroblob(length(vector))"),
        free_pages=count("PRAGMA freelist_count"),
    )


def compact(path: Path, lock: Path, report: Callable[[str], None]) -> Compacted:
    """Do it. Raises IndexBusy while another program holds the index."""
    presence = Presence(lock, alone=True)
    try:
        return _compacted(path, report)
    finally:
        presence.leave()


def _compacted(path: Path, report: Callable[[str], None]) -> Compacted:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    shadow = path.with_name(f"{path.name}.compact.tmp")
    for leftover in (shadow, *(shadow.with_name(shadow.name + s) for s in ("-wal", "-shm", "-journal"))):
        leftover.unlink(missing_ok=True)
    database = Database(path)
    with translated(path):
        report("writing what was changed last into the file")
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        planned = _planned(database.connection, path)
        database.connection.execute("PRAGMA journal_mode = DELETE")
        database.close()
        report(f"copying {planned.pieces} pieces and {planned.vectors} vectors")
        _build(path, shadow)
        report("checking the copy")
        _verify(path, shadow)
    with shadow.open("rb+") as file:
        os.fsync(file.fileno())
    backup = _free_name(path, stamp)
    os.link(path, backup)
    os.replace(shadow, path)
    return Compacted(planned, path.stat().st_size, backup.name)


def _free_name(path: Path, stamp: str) -> Path:
    """The name of the backup; what a killed run left there is the live file itself under a second name."""
    for old in path.parent.glob(f"{path.name}.*.bak"):
        if old.samefile(path):
            old.unlink()
    return path.with_name(names.free(f"{path.name}.{stamp}", ".bak", lambda name: path.with_name(name).exists()))


def _build(path: Path, shadow: Path) -> None:
    made = sqlite3.connect(shadow, isolation_level=None)
    try:
        prepare(made, wal=False)
        made.execute("ATTACH ? AS old", (str(path),))
        made.execute("BEGIN")
        for table in _TABLES:
            made.execute(f"DELETE FROM {table}")
            made.execute(f"INSERT INTO {table} SELECT * FROM old.{table}")
        made.execute(f"INSERT INTO vectors (digest, vector) {_LIVE_VECTORS.format('old.')}")
        for unit, text in made.execute("SELECT id, text FROM old.units ORDER BY id").fetchall():
            ids = made.execute("SELECT id FROM pieces WHERE unit = ? ORDER BY id", (unit,)).fetchall()
            for (piece,), part in zip(ids, pieces_of(text), strict=True):
                made.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (piece, " ".join(terms.terms(part))))
        made.execute("COMMIT")
        made.execute("INSERT INTO words (words) VALUES ('optimize')")
        made.execute("DETACH old")
        made.execute("VACUUM")
    finally:
        made.close()


def _verify(path: Path, shadow: Path) -> None:
    """Counts, integrity and sample questions; nothing is swapped in that differs."""
    old, new = sqlite3.connect(path), sqlite3.connect(shadow)
    try:
        checks = [f"SELECT count(*) FROM {table}" for table in _TABLES]
        checks += ["SELECT total(length) FROM pieces", f"SELECT count(*) FROM ({_LIVE_VECTORS.format('')})"]
        differing = [c for c in checks if old.execute(c).fetchone() != new.execute(c).fetchone()]
        whole = new.execute("PRAGMA integrity_check").fetchone()[0]
        step = max(1, old.execute("SELECT count(DISTINCT term) FROM places").fetchone()[0] // _SAMPLES)
        sampled = old.execute("SELECT DISTINCT term FROM places ORDER BY term").fetchall()[::step]
        for (term,) in sampled:
            asked = "SELECT doc, offset FROM places WHERE term = ? ORDER BY doc, offset"
            if old.execute(asked, (term,)).fetchall() != new.execute(asked, (term,)).fetchall():
                differing.append(f"the word {term!r}")
    finally:
        old.close()
        new.close()
    if differing or whole != "ok":
        raise IndexDamaged(
            f"the compacted copy of {path} differs ({', '.join(differing) or whole}), so the old file stays; "
            "`letopis index --rebuild` makes the index anew from the files"
        )
