"""`_sessions.jsonl`: one line a closed session, the last line of a session_id wins.

Derived from the headers of the archives and from the notes; it can be made again at any time.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from letopis.model import jsonl, session, summary
from letopis.model.session import SessionLine
from letopis.store import files
from letopis.store.listing import Listings
from letopis.store.locks import Locks
from letopis.store.workspace import INDEX_PATH, Workspace

LOCK = "session-index"


class SessionIndex:
    """The index of the closed sessions of one workspace."""

    def __init__(self, workspace: Workspace, locks: Locks) -> None:
        self._workspace, self._locks = workspace, locks
        self._listings = Listings()
        self._read_at: tuple[int, int] | None = None
        self._lines: dict[str, SessionLine] = {}

    def lines(self) -> dict[str, SessionLine]:
        """The newest line of each session, by id; archives that lack one are read themselves."""
        lines = dict(self._indexed())
        known = {line.transcript_path for line in lines.values()}
        for path in self.unindexed(known):
            line = self.from_archive(path)
            if line is not None:
                lines.setdefault(line.session_id, line)
        return lines

    def indexed(self) -> list[str]:
        """The ids that the index itself names."""
        return list(self._indexed())

    def indexed_line(self, session_id: str) -> SessionLine | None:
        """The line of a session as the index itself has it."""
        return self._indexed().get(session_id)

    def has(self, session_id: str) -> bool:
        """Whether the index has a line of this session."""
        return session_id in self._indexed()

    def unindexed(self, known: Iterable[str] | None = None) -> list[Path]:
        """The archives that no line of the index names."""
        named = set(known if known is not None else (i.transcript_path for i in self._indexed().values()))
        archive = self._workspace.archive
        folder = self._workspace.relative(archive)
        files_there = (e for e in self._listings.of(archive) if e.name.endswith(".jsonl") and e.name[0] != ".")
        return [archive / e.name for e in files_there if e.is_file and f"{folder}/{e.name}" not in named]

    def put(self, line: SessionLine) -> None:
        """Add the line of a session, unless it stands so already."""
        with self._locks.hold(LOCK):
            if self._indexed().get(line.session_id) != line:
                files.append(self._workspace.session_index, jsonl.encode(line.record()))

    def drop(self, session_id: str) -> None:
        """Write the index anew without a session."""
        with self._locks.hold(LOCK):
            data = files.read(self._workspace.session_index)
            if data is None:
                return
            kept = [
                raw + b"\n"
                for raw in data.split(b"\n")
                if raw.strip() and not any(_bears(line, session_id) for line in jsonl.lines(raw))
            ]
            if b"".join(kept) != data:
                files.replace(self._workspace.session_index, b"".join(kept))

    def rebuild(self, deleted: set[str]) -> list[SessionLine]:
        """Write the index anew from the archives and the notes; the old file is kept."""
        notes = self.newest_notes()
        made: list[SessionLine] = []
        for path in self.unindexed(()):
            line = self.from_archive(path, notes)
            if line is not None and line.session_id not in deleted | {other.session_id for other in made}:
                made.append(line)
        made.sort(key=lambda line: line.ended_at)
        with self._locks.hold(LOCK):
            if self._workspace.session_index.exists():
                stamp = os.urandom(4).hex()
                files.keep_copy(self._workspace.session_index, self._workspace.backups / f"sessions-{stamp}.jsonl")
            data = b"".join(jsonl.encode(line.record()) for line in made)
            files.replace(self._workspace.session_index, data)
        return made

    def from_archive(self, path: Path, notes: dict[str, tuple[str, str]] | None = None) -> SessionLine | None:
        """The line of a session from its archive; a newer note than the header's is taken."""
        try:
            with open(path, "rb") as file:
                header = next(iter(jsonl.lines(file.readline())), None)
        except OSError:
            return None
        if not isinstance(header, jsonl.GoodLine) or header.record.get("_type") != "archive":
            return None
        record = {**header.record, "transcript_path": self._workspace.relative(path)}
        line = session.parse(record)
        if line is not None and notes is not None and line.session_id in notes:
            note, status = notes[line.session_id]
            line = session.parse({**record, "memory_path": note, "summary_status": status})
        return line

    def newest_notes(self) -> dict[str, tuple[str, str]]:
        """For each session that a note bears, the newest such note and what it is."""
        found: dict[str, tuple[str, str]] = {}
        notes = [(_modified(p), p.name, p) for p in self._workspace.memory.glob("*.md")]
        for _, name, path in sorted(notes):
            if not summary.is_session_note(name):
                continue
            fields = summary.header_fields((files.read(path) or b"").decode("utf-8", "replace"))
            if fields.get("Session ID"):
                status = "raw" if path.stem.endswith("-session-raw") else "done"
                found[fields["Session ID"]] = (self._workspace.relative(path), status)
        return found

    def _indexed(self) -> dict[str, SessionLine]:
        path = self._workspace.session_index
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            self._read_at, self._lines = None, {}
            return {}
        now = (stat.st_size, stat.st_mtime_ns)
        if now != self._read_at:
            lines: dict[str, SessionLine] = {}
            for item in jsonl.lines(files.read(path) or b""):
                line = session.parse(item.record) if isinstance(item, jsonl.GoodLine) else None
                if line is not None:
                    lines.pop(line.session_id, None)
                    lines[line.session_id] = line
            self._read_at, self._lines = now, lines
        return self._lines


def _modified(path: Path) -> int:
    """When a file was last written; 0 for one that has just gone."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _bears(line: jsonl.GoodLine | jsonl.BadLine, session_id: str) -> bool:
    return isinstance(line, jsonl.GoodLine) and line.record.get("session_id") == session_id


__all__ = ["INDEX_PATH", "LOCK", "SessionIndex"]
