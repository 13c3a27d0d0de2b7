"""Closing: at once, for good, twice the same, and whatever happens meanwhile."""

import json
from pathlib import Path

import pytest

from letopis.errors import Busy, SessionNotFound, Unavailable
from letopis.lifecycle.close import Archived, Waiting, close_idle
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory
from letopis.model import summary as notes
from tests import invariants
from tests.conftest import HandClock, Opener, assistant, user

SUMMARY = {
    "title": "Кухня и сроки",
    "slug": "kuhnya-i-sroki",
    "summary": "Пользователь выбрал белую кухню за 148 500 рублей.",
    "decisions": ["Кухня белая"],
    "next_steps": ["Позвонить в салон"],
    "topics": ["кухня"],
    "key_messages": [1, 99],
}


def talk(memory: Memory, key: str = "cli:local") -> str:
    stored = memory.append(key, user("Кухня белая, 148 500 рублей"))
    memory.append(key, assistant("Хорошо"))
    memory.append(key, user("Надо позвонить в салон"))
    return stored.session_id


def only(memory: Memory) -> Archived:
    (outcome,) = memory.drain()
    assert isinstance(outcome, Archived)
    return outcome


def test_nothing_said_leaves_no_file(memory: Memory, folder: Path) -> None:
    assert memory.close("cli:local") is None
    assert memory.close("cli:local") is None
    assert memory.drain() == []
    assert list((folder / "memory").iterdir()) == []
    assert list((folder / "sessions").rglob("*.jsonl")) == []


def test_a_session_becomes_a_note_an_archive_and_an_index_line(opened: Opener, folder: Path) -> None:
    model = ScriptedModel(calling("save_summary", SUMMARY), calling("save_memory", {"operations": []}))
    memory = opened(model)
    session_id = talk(memory)
    assert memory.close("cli:local") == session_id
    closed = (folder / f"sessions/closing/{session_id}.jsonl").read_bytes()
    line = only(memory).line
    assert line.summary_status == "done"
    assert line.transcript_path == f"sessions/archive/2026-03-01-1015-kuhnya-i-sroki--{session_id[:8]}.jsonl"
    assert line.memory_path == "memory/2026-03-01-1015-kuhnya-i-sroki.md"
    archive = (folder / line.transcript_path).read_bytes()
    header, _, body = archive.partition(b"\n")
    assert body.startswith(closed)
    assert {k: v for k, v in json.loads(header).items() if k not in ("_type", "v")} == line.record()
    note = (folder / line.memory_path).read_text("utf-8")
    assert note.startswith("# Кухня и сроки\n")
    assert "## Решения\n\n- Кухня белая\n" in note
    assert "(#1): Кухня белая, 148 500 рублей" in note
    assert notes.header_fields(note)["Session Key"] == "cli:local"
    invariants.check(memory)


def test_without_a_model_the_last_messages_are_kept_raw(memory: Memory, folder: Path) -> None:
    talk(memory)
    memory.close("cli:local")
    line = only(memory).line
    assert (line.summary_status, line.memory_path) == ("raw", "memory/2026-03-01-1015-session-raw.md")
    assert "Надо позвонить в салон" in (folder / str(line.memory_path)).read_text("utf-8")
    invariants.check(memory)


def test_a_trivial_session_has_no_note_and_is_archived_all_the_same(memory: Memory, folder: Path) -> None:
    memory.append("k", user("привет"))
    memory.close("k")
    line = only(memory).line
    assert (line.summary_status, line.memory_path) == ("skipped", None)
    assert [m.text for m in memory.history(session_id=line.session_id)[1].messages] == ["привет"]
    assert list((folder / "memory").iterdir()) == []


def test_switched_off_summaries_ask_no_model(opened: Opener) -> None:
    model = ScriptedModel(calling("save_memory", {}))
    memory = opened(model, session_memory__enabled=False)
    talk(memory)
    memory.close("cli:local")
    assert only(memory).line.summary_status == "disabled"
    assert [r.force for r in model.requests] == ["save_memory"]


@pytest.mark.parametrize(
    "answer",
    [
        Unavailable("down"),
        "Just prose.",
        calling("save_summary", {"title": "Error: 401", "summary": "Error: 401 Unauthorized"}),
        calling("save_summary", {"title": "Кухня", "summary": "Кухня стоит 999 999 рублей."}),
        calling("save_summary", {"title": "Kitchen", "summary": "The user chose a white kitchen."}),
        calling("save_summary", "{broken"),
        calling("save_summary", {"title": "Кухня"}),
    ],
)
def test_a_summary_that_cannot_be_believed_gives_way_to_the_raw_note(
    opened: Opener, answer: object, folder: Path
) -> None:
    memory = opened(ScriptedModel(otherwise=answer))  # type: ignore[arg-type]
    talk(memory)
    memory.close("cli:local")
    outcome = only(memory)
    assert outcome.line.summary_status == "raw"
    assert outcome.problems
    assert "999 999" not in (folder / str(outcome.line.memory_path)).read_text("utf-8")
    invariants.check(memory)


def test_a_second_answer_may_repair_the_first(opened: Opener) -> None:
    wrong = calling("save_summary", {"title": "Кухня", "summary": "Кухня стоит 999 рублей."})
    memory = opened(ScriptedModel(wrong, calling("save_summary", SUMMARY), calling("save_memory", {})))
    talk(memory)
    memory.close("cli:local")
    assert only(memory).line.summary_status == "done"


@pytest.mark.parametrize(
    "slug", ["Error: 401", "../../etc/passwd", "", "—", "CON", "a" * 500, "слаг с пробелами", "x/y", "raw-archive"]
)
def test_any_slug_of_a_model_gives_a_safe_name(opened: Opener, folder: Path, slug: str) -> None:
    memory = opened(ScriptedModel(calling("save_summary", {**SUMMARY, "slug": slug}), calling("save_memory", {})))
    talk(memory)
    memory.close("cli:local")
    line = only(memory).line
    assert line.slug.replace("-", "").isalnum()
    assert line.slug.isascii()
    assert "error" not in line.slug
    invariants.check(memory)


def test_two_sessions_of_one_minute_and_slug_have_files_of_their_own(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=calling("save_summary", {**SUMMARY, "slug": "test"})))
    for _ in range(2):
        talk(memory)
        memory.close("cli:local")
        memory.drain()
    lines = memory.sessions()
    assert len({line.memory_path for line in lines}) == len({line.transcript_path for line in lines}) == 2
    assert {line.memory_path for line in lines} == {
        "memory/2026-03-01-1015-test.md",
        "memory/2026-03-01-1015-test-2.md",
    }
    invariants.check(memory)


def test_a_name_that_is_taken_between_plan_and_note_is_not_overwritten(memory: Memory, folder: Path) -> None:
    session_id = talk(memory)
    memory.close("cli:local")
    transcript = memory.store.closing.read(session_id)
    assert transcript is not None
    plan = memory.store.closing.propose(transcript, "x", "raw")
    header = memory.store.closing.header_for(transcript, plan)
    from dataclasses import replace

    memory.store.closing.put_plan(transcript, replace(plan, note=notes.render_raw(header, transcript.messages)))
    (folder / str(plan.memory_path)).write_text("mine\n")
    (folder / plan.transcript_path).parent.mkdir(exist_ok=True)
    (folder / plan.transcript_path).write_text("mine\n")
    line = only(memory).line
    assert (folder / str(plan.memory_path)).read_text() == "mine\n"
    assert (folder / plan.transcript_path).read_text() == "mine\n"
    assert line.memory_path == "memory/2026-03-01-1015-2-session-raw.md"
    (folder / plan.transcript_path).unlink()
    (folder / str(plan.memory_path)).unlink()
    invariants.check(memory)


def test_a_closed_session_is_listed_read_and_searched_before_it_is_archived(memory: Memory) -> None:
    session_id = talk(memory)
    memory.close("cli:local")
    (line,) = memory.sessions()
    assert (line.session_id, line.state, line.summary_status) == (session_id, "closing", "pending")
    assert len(memory.history(session_id=session_id)[1].messages) == 3
    assert memory.search("салон", scope="transcripts").hits[0].source == f"{session_id}#3"


def test_a_running_turn_keeps_the_archiver_waiting_and_new_does_not(memory: Memory) -> None:
    session_id = talk(memory)
    with memory.store.session_lock(session_id):
        assert memory.close("cli:local") == session_id
        (outcome,) = memory.drain()
        assert isinstance(outcome, Waiting)
    memory.append("cli:local", assistant("the reply"), session_id=session_id)
    assert only(memory).line.message_count == 4


def test_an_index_line_that_is_lost_is_made_again_at_the_start(opened: Opener, folder: Path) -> None:
    memory = opened()
    session_id = talk(memory)
    memory.close("cli:local")
    memory.drain()
    (folder / "sessions/_sessions.jsonl").write_bytes(b"\0" * 4096)
    assert [line.session_id for line in memory.sessions()] == [session_id]
    invariants.check(opened())


def test_a_rebuilt_index_says_what_the_old_one_said(memory: Memory, folder: Path) -> None:
    for key in ("a", "b"):
        talk(memory, key)
        memory.close(key)
        memory.drain()
    before = {line.session_id: line for line in memory.sessions()}
    (folder / "sessions/_sessions.jsonl").unlink()
    memory.store.index.rebuild(set())
    assert {line.session_id: line for line in memory.sessions()} == before


def test_idle_sessions_close_by_the_clock(opened: Opener, clock: HandClock) -> None:
    memory = opened(session__idle_close=30)
    session_id = talk(memory)
    clock.forward(minutes=29)
    assert close_idle(memory.store) == []
    clock.forward(minutes=2)
    assert close_idle(memory.store) == [session_id]
    memory.drain()
    talk(memory)
    clock.forward(hours=2)
    memory.turn("cli:local", "следующее утро")
    assert {line.state for line in memory.sessions()} == {"archived", "closing", "live"}


def test_both_times_are_kept_when_a_session_is_closed_the_next_day(memory: Memory, clock: HandClock) -> None:
    talk(memory)
    clock.forward(hours=15)
    memory.close("cli:local")
    line = only(memory).line
    assert line.updated_at.startswith("2026-03-01T10:15")
    assert line.ended_at.startswith("2026-03-02T01:15")
    assert "2026-03-02-0115" in line.transcript_path


def test_a_deleted_session_is_gone_everywhere_and_never_comes_back(opened: Opener, folder: Path) -> None:
    memory = opened()
    ids = []
    for state in ("archived", "closing", "live"):
        ids.append(talk(memory, state))
        if state != "live":
            memory.close(state)
        if state == "archived":
            memory.drain()
    for session_id in ids:
        line, paths = memory.store.delete_session(session_id)
        assert line.transcript_path in paths
        with pytest.raises(SessionNotFound):
            memory.store.delete_session(session_id)
    memory = opened()
    memory.store.index.rebuild(memory.store.deletions.ids())
    assert memory.sessions() == []
    assert memory.search("салон", scope="all").hits == ()
    names = [p.name for p in folder.rglob("*") if p.is_file() and "салон" in p.read_text("utf-8", "replace")]
    assert names == []
    assert talk(memory, "live") not in ids
    assert len(opened().sessions()) == 1


def test_a_session_with_a_running_turn_is_not_deleted(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id = talk(memory)
    monkeypatch.setattr("letopis.store.store._DELETE_WAIT", 0.0)
    with memory.store.session_lock(session_id), pytest.raises(Busy):
        memory.store.delete_session(session_id)
    assert len(memory.sessions()) == 1
