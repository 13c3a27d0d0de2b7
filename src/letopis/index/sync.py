"""The one way into the index: the files as they are now, compared with what was indexed.

Whoever changed a file, its change comes in here: a scan of stamps, then the changed files are
cut into units and pieces anew, in one transaction each, so a search sees the old rows or the
new ones and never none. Rows of a transcript belong to its session, wherever its file stands.
"""

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from letopis.errors import OutsideWorkspace, Unreadable
from letopis.index import chat_history
from letopis.index.database import Database
from letopis.model import answers, blocks, jsonl, pieces, summary, terms
from letopis.model.bank import texts_of
from letopis.model.digest import is_closed
from letopis.model.text import printable
from letopis.model.transcript import Transcript
from letopis.store import Store
from letopis.store.scanning import Stamp

_UNIT_COLUMNS = "source, section, position, n, last, kind, role, speaker, day, gives, heading, superseded, text"
_OWN_HEADINGS = ("fact", "archived", "daily", "digest")  # notes whose headings are the program's and say nothing
_MOVED = "moved/"  # the name of rows whose file is now another session's, until their own is seen
_TOO_FRESH = 2.0  # a file modified so shortly before it was looked at is looked at again


@dataclass(frozen=True, slots=True)
class Unit:
    """A block of a note or a message, as it goes into the index."""

    section: int
    position: int
    n: int
    last: int
    kind: str
    role: str
    speaker: str
    day: str
    heading: str
    superseded: bool
    text: str


@dataclass(slots=True)
class Report:
    """Which files a sync had to leave out. `stale`: time ran out before the end."""

    problems: list[str] = field(default_factory=list)
    stale: bool = False


def sync(store: Store, database: Database, limit: float | None = None) -> Report:
    """Bring the index up to date, for at most `limit` seconds."""
    deadline = time.monotonic() + limit if limit is not None else None
    report = Report()
    known = database.remembered(_known)
    try:
        scan = store.scanning.scan(store.settings.vector_memory.max_file_bytes, database.remembered(_settled))
    except Unreadable as error:
        return Report([str(error)])
    taken = False
    gone = known.keys() - scan.names
    for stamp in scan.changed:
        before = known.get(stamp.name)
        if stamp.problem:
            report.problems.append(f"{stamp.name} was left out: {stamp.problem}")
        if before is not None and (stamp.size, stamp.modified, stamp.problem) == _looks(before) and _is_settled(before):
            continue
        if deadline is not None and time.monotonic() > deadline:
            report.stale = True
            break
        _take(store, database, stamp, before, report)
        taken = True
    if taken:
        gone |= {name for name in database.remembered(_known) if name.startswith(_MOVED)}
    if gone and not report.stale:
        _drop(database, gone)
    return report


def _known(connection: sqlite3.Connection) -> dict[str, sqlite3.Row]:
    cursor = connection.execute(
        "SELECT name, id, origin, size, modified, looked, digest, offset, session_id, problem FROM sources"
    )
    cursor.row_factory = sqlite3.Row
    return {row["name"]: row for row in cursor}


def _settled(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Size and time of the files that were read whole; the scan passes over them while they stay so."""
    rows = _known(connection).values()
    return {row["name"]: (row["size"], row["modified"]) for row in rows if not row["problem"] and _is_settled(row)}


def _is_settled(row: sqlite3.Row) -> bool:
    """Whether a change since it was looked at would show in the file's time, or in its size."""
    return bool(row["looked"] - row["modified"] / 1e9 > _TOO_FRESH) or row["origin"] != "note"


def _looks(row: sqlite3.Row) -> tuple[int, int, str]:
    return row["size"], row["modified"], row["problem"]


def _take(store: Store, database: Database, stamp: Stamp, before: sqlite3.Row | None, report: Report) -> None:
    """Index one file; a file that cannot be read is named and stops no other."""
    try:
        if stamp.problem:
            _leave_out(database, stamp, stamp.problem)
        elif stamp.origin == "note":
            _take_note(store, database, stamp, before)
        elif stamp.origin == "experience":
            _take_experience(store, database, stamp)
        else:
            _take_transcript(store, database, stamp, before)
    except (Unreadable, OutsideWorkspace) as error:
        report.problems.append(f"{stamp.name} was left out: {error}")
        _leave_out(database, stamp, str(error))


# --- notes ------------------------------------------------------------------------------------


def _take_note(store: Store, database: Database, stamp: Stamp, before: sqlite3.Row | None) -> None:
    looked = time.time()
    text = store.scanning.note(stamp.name)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if before is not None and before["digest"] == digest and not before["problem"]:
        with database.writing() as connection:
            connection.execute(
                "UPDATE sources SET size = ?, modified = ?, looked = ? WHERE id = ?",
                (stamp.size, stamp.modified, looked, before["id"]),
            )
        return
    fields = summary.header_fields(text) if summary.is_session_note(stamp.name) else {}
    facts = {"session_id": "", "key": fields.get("Session Key", "")}
    with database.writing() as connection:
        source = _put_row(connection, stamp, _row(connection, "name", stamp.name), digest, facts, "", looked)
        _drop_units(connection, source)
        if not (stamp.name.startswith("memory/conversations/") and is_closed(text)):
            _put_units(connection, source, _units_of_note(stamp.name, text, bool(fields)))
        bump(connection)


def _units_of_note(name: str, text: str, of_session: bool) -> Iterable[Unit]:
    kind = summary.kind_of_note(name, of_session)
    named = name.rpartition("/")[2][:10]
    day = named if len(named) == 10 and named[4:5] == "-" and named[:4].isdigit() else ""
    sections: dict[str, int] = {}
    for at, block in enumerate(blocks.split(text)):
        if kind in _OWN_HEADINGS and block.text.startswith("#") and "\n" not in block.text:
            continue
        section = sections.setdefault(block.heading, len(sections))
        yield Unit(
            section, at, block.first, block.last, kind, "", "", block.date or day, block.heading, False, block.text
        )


# --- transcripts ------------------------------------------------------------------------------


def _take_transcript(store: Store, database: Database, stamp: Stamp, before: sqlite3.Row | None) -> None:
    looked = time.time()
    session_id = store.scanning.session_of(stamp.name)
    if not session_id:
        raise Unreadable("its header is damaged; `letopis doctor --repair` mends it")
    same = before is not None and before["session_id"] == session_id and not before["problem"]
    grown = before is not None and same and stamp.size >= before["size"]
    transcript, end = store.scanning.transcript(stamp.name, before["offset"] if before is not None and grown else 0)
    header = transcript.header
    facts: dict[str, Any] = {"session_id": session_id, "offset": end}
    if header is not None:
        facts |= {"key": header.key, "persona": header.persona}
    with database.writing() as connection:
        source = _source_of_session(connection, session_id, stamp)
        row = _put_row(connection, stamp, source, "", facts, "", looked)
        newest = connection.execute("SELECT max(n) FROM units WHERE source = ?", (row,)).fetchone()[0] or 0
        _put_units(connection, row, _units_of_transcript(transcript, newest))
        is_open = transcript.ended_at is None and store.scanning.is_live(stamp.name)
        chat_history.put(connection, session_id, transcript, is_open)
        for a, b in transcript.superseded:
            reshaped(connection)
            connection.execute("UPDATE units SET superseded = 1 WHERE source = ? AND n BETWEEN ? AND ?", (row, a, b))
        bump(connection)


def _source_of_session(connection: sqlite3.Connection, session_id: str, stamp: Stamp) -> sqlite3.Row | None:
    """The rows of a session move with it; those of another that had this name wait for its own file."""
    own = _row(connection, "session_id", session_id)
    if own is not None and own["name"] == stamp.name:
        return own
    connection.execute("UPDATE sources SET name = ? || id WHERE name = ?", (_MOVED, stamp.name))
    return own


def _units_of_transcript(transcript: Transcript, newest: int) -> Iterable[Unit]:
    for message in transcript.messages:
        if message.n > newest and message.searched and message.text.strip():
            name = message.stored.get("name")
            speaker = name if isinstance(name, str) and message.role != "tool" else ""
            yield Unit(
                0, message.n, message.n, message.n, "message", message.role, speaker, message.timestamp[:10], "",
                transcript.is_superseded(message.n), message.text,
            )  # fmt: skip


# --- experience -------------------------------------------------------------------------------


def _take_experience(store: Store, database: Database, stamp: Stamp) -> None:
    """The new events of a collection; a file that is shorter than it was is read anew."""
    looked = time.time()
    with database.writing() as connection:
        before = _row(connection, "name", stamp.name)
        grown = before is not None and not before["problem"] and stamp.size >= before["offset"]
        data, end = store.scanning.whole_lines(stamp.name, before["offset"] if before is not None and grown else 0)
        first = int(before["digest"] or 0) if before is not None and grown else 0
        facts = {"offset": end}
        row = _put_row(connection, stamp, before, str(first + data.count(b"\n")), facts, "", looked)
        if not grown:
            _drop_units(connection, row)
        for line in jsonl.lines(data, first + 1):
            if isinstance(line, jsonl.GoodLine):
                _put_event(connection, row, line.number, line.record)
        bump(connection)


def _put_event(connection: sqlite3.Connection, source: int, number: int, record: Mapping[str, Any]) -> None:
    """The text of one event; what it takes the place of, or ends, is marked as superseded."""
    kind = record.get("_type")
    if kind in ("answer", "ended", "lesson"):
        reshaped(connection)
        only = "AND role = 'assistant'" if kind == "answer" else ""
        connection.execute(
            f"UPDATE units SET superseded = 1 WHERE source = ? AND heading = ? {only}",
            (source, printable(str(record.get("id" if kind == "lesson" else "case")))),
        )
    owner, day = (
        printable(str(record.get("case") or record.get("id") or "")),
        printable(str(record.get("at") or "")[:10]),
    )
    section = zlib.crc32(owner.encode("utf-8", "replace")) & 0x7FFFFFFF
    units = [
        Unit(section, 4 * number + at, number, number, name, role, "", day, owner, False, text)
        for at, (name, role, text) in enumerate(texts_of(record))
    ]
    _put_units(connection, source, units)


# --- rows -------------------------------------------------------------------------------------


def _leave_out(database: Database, stamp: Stamp, problem: str) -> None:
    """A file that is left out has a row and no text."""
    with database.writing() as connection:
        source = _put_row(
            connection, stamp, _row(connection, "name", stamp.name), "", {"offset": 0}, problem, time.time()
        )
        _drop_units(connection, source)
        bump(connection)


def _row(connection: sqlite3.Connection, column: str, value: str) -> sqlite3.Row | None:
    """The row of a file as it is now: another process may have made it since the scan."""
    cursor = connection.execute(f"SELECT * FROM sources WHERE {column} = ?", (value,))
    cursor.row_factory = sqlite3.Row
    found: sqlite3.Row | None = cursor.fetchone()
    return found


def _put_row(
    connection: sqlite3.Connection,
    stamp: Stamp,
    before: sqlite3.Row | None,
    digest: str,
    facts: dict[str, Any],
    problem: str,
    looked: float,
) -> int:
    values: dict[str, Any] = {"session_id": "", "key": "", "persona": "", "offset": 0}
    if before is not None:
        values = {name: before[name] for name in values}
    values |= {k: printable(v) if isinstance(v, str) else v for k, v in facts.items() if k in values}
    file = (stamp.name, stamp.origin, stamp.size, stamp.modified, looked, digest, problem)
    row = (*file, values["offset"], values["session_id"], values["key"], values["persona"])
    columns = "name, origin, size, modified, looked, digest, problem, offset, session_id, key, persona"
    if before is not None:
        connection.execute(
            f"UPDATE sources SET ({columns}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?", (*row, before["id"])
        )
        return int(before["id"])
    return int(
        connection.execute(f"INSERT INTO sources ({columns}) VALUES (?,?,?,?,?,?,?,?,?,?,?)", row).lastrowid or 0
    )


def _put_units(connection: sqlite3.Connection, source: int, units: Iterable[Unit]) -> None:
    for unit in units:
        made = connection.execute(
            f"INSERT INTO units ({_UNIT_COLUMNS})"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                source, unit.section, unit.position, unit.n, unit.last, unit.kind, unit.role, unit.speaker,
                unit.day, answers.given(unit.text), unit.heading, unit.superseded, printable(unit.text),
            ),
        ).lastrowid  # fmt: skip
        for text in pieces_of(unit.text):
            found = terms.terms(text)
            digest = digest_of(passage_of(unit.speaker, text))
            piece = connection.execute(
                "INSERT INTO pieces (unit, length, digest) VALUES (?, ?, ?)", (made, len(found), digest)
            ).lastrowid
            connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (piece, " ".join(found)))


def _drop_units(connection: sqlite3.Connection, source: int) -> None:
    """Remove the rows of a source; the words of a contentless table leave as they came."""
    reshaped(connection)
    for unit, text in connection.execute("SELECT id, text FROM units WHERE source = ?", (source,)):
        ids = [row[0] for row in connection.execute("SELECT id FROM pieces WHERE unit = ? ORDER BY id", (unit,))]
        for piece, part in zip(ids, pieces_of(text), strict=True):
            connection.execute(
                "INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)", (piece, " ".join(terms.terms(part)))
            )
        connection.execute("DELETE FROM pieces WHERE unit = ?", (unit,))
    connection.execute("DELETE FROM units WHERE source = ?", (source,))


def _drop(database: Database, names: set[str]) -> None:
    with database.writing() as connection:
        for name in names:
            row = connection.execute("SELECT id, session_id FROM sources WHERE name = ?", (name,)).fetchone()
            if row is not None:
                _drop_units(connection, row[0])
                chat_history.drop(connection, row[1])
                connection.execute("DELETE FROM sources WHERE id = ?", row[:1])
        bump(connection)


def bump(connection: sqlite3.Connection) -> None:
    """Tell everyone who has read the index that it has changed."""
    connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'generation'")


def reshaped(connection: sqlite3.Connection) -> None:
    """Rows go or change, so nobody may only read what was added."""
    connection.execute(
        "INSERT OR REPLACE INTO meta SELECT 'reshaped', CAST(value AS INTEGER) + 1 FROM meta WHERE name = 'generation'"
    )


def pieces_of(text: str) -> list[str]:
    """The pieces of a unit, from the text as it is stored; never none."""
    return pieces.split(printable(text)) or [printable(text)]


def passage_of(speaker: str, text: str) -> str:
    """What is embedded for a piece."""
    return f"{speaker}: {text}" if speaker else text


def digest_of(passage: str) -> bytes:
    """The content hash under which a vector is kept."""
    return hashlib.sha256(passage.encode("utf-8", "replace")).digest()[:16]
