"""The doctor: finds each kind of damage, mends it, and loses no byte."""

from collections.abc import Callable
from pathlib import Path

import pytest

from letopis import checks
from letopis.memory import Memory
from tests import invariants
from tests.conftest import Opener, user


@pytest.fixture
def lived(opened: Opener) -> Memory:
    """A workspace with a fact, an archived, a closing and a live session."""
    memory = opened()
    memory.remember("Кота зовут Барсик", key="old")
    memory.append("old", user("второе"))
    memory.close("old")
    memory.drain()
    for key in ("closing", "live"):
        memory.append(key, user(f"слово {key}"))
    return memory


def one(pattern: str) -> Callable[[Path], Path]:
    return lambda folder: next(iter(sorted(folder.glob(pattern))))


ARCHIVE, LIVE, INDEX = one("sessions/archive/*.jsonl"), one("sessions/live--*.jsonl"), one("sessions/_sessions.jsonl")
MEMORY, JOURNAL, NOTE = one("memory/MEMORY.md"), one(".letopis/facts.jsonl"), one("memory/2026*.md")


def add(path: Path, data: bytes) -> None:
    path.write_bytes(path.read_bytes() + data)


def tear(path: Path) -> None:
    add(path, b'{"role": "user", "con')


def damage_header(path: Path) -> None:
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(b"\0" * len(first) + b"\n" + rest)


CLOSED = b'{"_type":"closed","ended_at":"2026-03-01T11:00:00+03:00"}\n'
DAMAGES: list[tuple[str, Callable[[Path], object], str]] = [
    ("a torn line", lambda f: tear(LIVE(f)), "damaged lines"),
    ("a torn journal", lambda f: tear(JOURNAL(f)), "damaged lines"),
    ("a lost header", lambda f: damage_header(LIVE(f)), "header"),
    ("an index of NULs", lambda f: INDEX(f).write_bytes(b"\0" * 4096), "damaged lines"),
    ("a lost index", lambda f: INDEX(f).unlink(), "no line for"),
    ("a lost note", lambda f: NOTE(f).unlink(), "note of session"),
    ("bytes that are no text", lambda f: add(MEMORY(f), b"- \xcf\xf0\xe8\xe2\xe5\xf2 \xff\n"), "not UTF-8"),
    ("a left temporary file", lambda f: (f / "memory/.x.md.999999-ab.tmp").write_text("half"), "was writing"),
    ("a left closing", lambda f: add(LIVE(f), CLOSED), "not archived"),
]  # fmt: skip


def test_a_healthy_workspace_has_no_findings(lived: Memory) -> None:
    assert checks.examine(lived.store, lived.models) == []


@pytest.mark.parametrize(("what", "damage", "words"), DAMAGES, ids=[d[0] for d in DAMAGES])
def test_each_damage_is_found_named_and_mended(
    lived: Memory, opened: Opener, folder: Path, what: str, damage: Callable[[Path], object], words: str
) -> None:
    said = {text for _, _, text in invariants.said(folder)}
    damage(folder)
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    findings = checks.examine(lived.store, lived.models)
    assert any(words in finding.what for finding in findings), findings
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before, "looking changed something"
    outcomes, left = checks.repair(lived.store, lived.models)
    assert left == []
    assert all(outcome == "mended" for _, outcome in outcomes), outcomes
    assert {text for _, _, text in invariants.said(folder)} >= said
    kept = [p.read_bytes() for p in folder.rglob("*") if p.is_file()]
    for data in before.values():
        lost = [line for line in data.split(b"\n") if line.strip(b"\0 ") and not any(line in k for k in kept)]
        assert lost == [], lost
    invariants.check(opened())
    assert "Кота зовут Барсик" in {f.text for f in opened().facts()}


def test_text_in_an_old_encoding_is_read_again(lived: Memory, folder: Path) -> None:
    MEMORY(folder).write_bytes(MEMORY(folder).read_bytes() + "- Привет от старого редактора\n".encode("cp1251"))
    checks.repair(lived.store, lived.models)
    assert "Привет от старого редактора" in {f.text for f in lived.facts()}


def test_an_archive_is_reported_and_never_changed(lived: Memory, folder: Path) -> None:
    tear(ARCHIVE(folder))
    before = ARCHIVE(folder).read_bytes()
    _, left = checks.repair(lived.store, lived.models)
    assert "never changed" in left[0].remedy
    assert ARCHIVE(folder).read_bytes() == before


def test_a_missing_transcript_is_reported_and_its_line_dropped_with_a_backup(lived: Memory, folder: Path) -> None:
    line = INDEX(folder).read_bytes()
    ARCHIVE(folder).unlink()
    findings = checks.examine(lived.store, lived.models)
    assert any("transcript of session" in f.what for f in findings)
    checks.repair(lived.store, lived.models)
    assert any(p.read_bytes() == line for p in (folder / ".letopis/quarantine").iterdir())
