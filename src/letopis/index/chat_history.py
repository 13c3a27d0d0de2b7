"""The table `chat_history`: the open conversations row by row, a view of their transcripts.

A session's rows come and grow with every sync and go when it is closed. They hold what a person
or a model may see again: neither first passes nor edited turns.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from letopis.model.text import normalise, printable
from letopis.model.transcript import Transcript
from letopis.model.windows import Row, rows


def put(connection: sqlite3.Connection, session_id: str, transcript: Transcript, is_open: bool) -> None:
    """Add the rows of what a transcript says anew; those of superseded turns go, and all of a closed session."""
    if not is_open:
        drop(connection, session_id)
        return
    connection.executemany(
        "INSERT OR REPLACE INTO chat_history VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (session_id, row.n, row.role, _folded(transcript, row.n), row.tokens, row.time, row.begins)
            for row in rows(transcript.messages)
        ),
    )
    for a, b in transcript.superseded:
        connection.execute("DELETE FROM chat_history WHERE session = ? AND n BETWEEN ? AND ?", (session_id, a, b))


def _folded(transcript: Transcript, n: int) -> str:
    """The text of a message as it is searched; empty where it is not searched."""
    message = transcript.message(n)
    return printable(normalise(message.text)) if message is not None and message.searched else ""


def drop(connection: sqlite3.Connection, session_id: str) -> None:
    """A closed session has no short-term memory."""
    connection.execute("DELETE FROM chat_history WHERE session = ?", (session_id,))


def newest_first(connection: sqlite3.Connection, session_id: str, after: int) -> Iterator[Row]:
    """The rows of a session with numbers above `after`, as they are read from the end."""
    for row in connection.execute(
        "SELECT n, role, tokens, time, begins FROM chat_history WHERE session = ? AND n > ? ORDER BY n DESC",
        (session_id, after),
    ):
        yield Row(row[0], row[1], row[2], row[3], bool(row[4]))


def holding(connection: sqlite3.Connection, session_id: str, parts: Sequence[str], before: int) -> list[int]:
    """The messages before number `before` whose text holds all these parts, letter for letter, newest first."""
    wanted = " ".join("AND text LIKE ? ESCAPE '\\'" for _ in parts)
    patterns = [f"%{_escaped(normalise(part))}%" for part in parts]
    found: Iterable[tuple[int]] = connection.execute(
        f"SELECT n FROM chat_history WHERE session = ? AND n < ? {wanted} ORDER BY n DESC",
        (session_id, before, *patterns),
    )
    return [n for (n,) in found]


def _escaped(part: str) -> str:
    """A part in which nothing is a wildcard; folding may have made one of another sign."""
    for sign in "\\%_":
        part = part.replace(sign, "\\" + sign)
    return printable(part)
