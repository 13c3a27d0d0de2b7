"""The invariants of the design, checked on the files themselves."""

import json
from pathlib import Path

from letopis.memory import Memory
from letopis.model import jsonl, summary
from letopis.model.transcript import Transcript


def transcripts(folder: Path) -> dict[Path, Transcript]:
    found = {}
    for place in ("sessions", "sessions/closing", "sessions/archive"):
        for path in sorted((folder / place).glob("*.jsonl")):
            if not path.name.startswith("_"):
                found[path] = Transcript().feed(path.read_bytes())
    return found


def said(folder: Path) -> list[tuple[str, int, str]]:
    """(session, n, text) of every message there is, in any file."""
    return [(t.session_id, m.n, m.text) for t in transcripts(folder).values() for m in t.messages]


def check(memory: Memory) -> None:
    """Invariants 1 to 4 as far as files can show them, for a workspace at rest."""
    folder = memory.store.workspace.root
    every = said(folder)
    assert len({(s, n) for s, n, _ in every}) == len(every), "a message stands twice"
    for path, transcript in transcripts(folder).items():
        assert transcript.header is not None, path
        numbers = [m.n for m in transcript.messages]
        assert numbers == list(range(1, len(numbers) + 1)), path
        times = [m.timestamp for m in transcript.messages]
        assert times == sorted(times), path
        assert 0 <= transcript.last_consolidated <= len(numbers), path
    _index(folder)
    assert not [p for p in folder.rglob("*.tmp") if "quarantine" not in p.parts]


def _index(folder: Path) -> None:
    index = folder / "sessions/_sessions.jsonl"
    lines: dict[str, dict[str, object]] = {}
    for line in jsonl.lines(index.read_bytes() if index.exists() else b""):
        if isinstance(line, jsonl.GoodLine):  # a kill may leave a torn line, which nobody reads
            lines[str(line.record["session_id"])] = line.record
    for path in (folder / "sessions/archive").glob("*.jsonl"):
        raw = path.read_bytes().split(b"\n")
        header = json.loads(raw[0])
        assert lines[header["session_id"]]["transcript_path"] == path.relative_to(folder).as_posix()
        assert any(line.startswith(b'{"_type": "session"') for line in raw[1:])
        assert header["message_count"] == len(Transcript().feed(path.read_bytes()).messages)
    for record in lines.values():
        assert (folder / str(record["transcript_path"])).is_file()
        if record["memory_path"]:
            note = (folder / str(record["memory_path"])).read_text("utf-8")
            fields = summary.header_fields(note)
            assert fields["Session ID"] == record["session_id"]
            assert fields["Transcript"] == record["transcript_path"]
            assert (folder / "memory" / ".." / fields["Session Index"]).resolve() == index.resolve()
