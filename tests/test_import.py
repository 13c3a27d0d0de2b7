"""Import: original times, nothing twice, growth as a continuation, bad lines named."""

import json
import os
from pathlib import Path

import pytest

from letopis.errors import SourceUnreadable
from letopis.lifecycle.importing import Outcome, files_of, import_file
from letopis.memory import Memory
from tests import invariants


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), "utf-8")
    return path


def message(role: str, content: object, **fields: object) -> dict[str, object]:
    return {"role": role, "content": content, **fields}


def brought(memory: Memory, kind: str, path: Path) -> Outcome:
    (outcome,) = import_file(memory.store, kind, path)
    return outcome


def test_nanobot_sessions_keep_their_key_and_times(memory: Memory, tmp_path: Path) -> None:
    path = write(
        tmp_path / "telegram_12345.jsonl",
        {"_type": "metadata", "key": "telegram:12:345", "created_at": "2026-01-05T09:00:00", "metadata": {}},
        message("user", "Привет", timestamp="2026-01-05T09:00:01"),
        message("assistant", None, tool_calls=[{"id": "a"}], timestamp="2026-01-05T09:00:02"),
        message("tool", "ok", tool_call_id="a", name="x", timestamp="2026-01-05T09:00:03"),
    )
    line = brought(memory, "nanobot", path).line
    assert line is not None
    assert (line.key, line.state, line.summary_status) == ("telegram:12:345", "archived", "skipped")
    assert line.created_at.startswith("2026-01-05T09:00:01")
    assert line.transcript_path.startswith("sessions/archive/2026-01-05-0900-privet--")
    messages = memory.history(session_id=line.session_id)[1].messages
    assert [m.role for m in messages] == ["user", "assistant", "tool"]
    assert messages[0].timestamp.startswith("2026-01-05T09:00:01")
    assert messages[0].wire["timestamp"] == "2026-01-05T09:00:01"
    invariants.check(memory)


def test_an_older_session_file_takes_its_key_from_its_name(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "telegram_12345.jsonl", {"_type": "metadata"}, message("user", "x"))
    os.utime(path, (1_767_600_000, 1_767_600_000))
    line = brought(memory, "nanobot", path).line
    assert line is not None
    assert line.key == "telegram:12345"
    assert line.created_at.startswith("2026-01-05")


@pytest.mark.parametrize("form", ["jsonl", "array", "object", "pretty"])
def test_openai_messages_come_in_any_form(memory: Memory, tmp_path: Path, form: str) -> None:
    asked = message("user", "Question?", timestamp=1_767_600_000)
    messages = [message("system", "s"), asked, message("assistant", "A")]
    path = tmp_path / "chat.json"
    if form == "jsonl":
        write(path, *messages)
    else:
        whole = messages if form in ("array", "pretty") else {"messages": messages}
        path.write_text(json.dumps(whole, indent=2 if form == "pretty" else None))
    line = brought(memory, "openai", path).line
    assert line is not None
    assert line.message_count == 3
    assert line.updated_at.startswith("2026-01-05")
    assert memory.search("question", scope="transcripts").hits[0].n == 2


def test_several_conversations_of_one_file_are_several_sessions(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "many.jsonl", *({"messages": [message("user", f"q{n}")]} for n in range(3)))
    outcomes = import_file(memory.store, "openai", path)
    assert [o.added for o in outcomes] == [1, 1, 1]
    assert len(memory.sessions()) == 3


def test_a_repeated_import_adds_nothing_and_growth_is_a_continuation(memory: Memory, tmp_path: Path) -> None:
    told = [message("user", "ok"), message("assistant", "ok"), message("user", "ok")]
    path = write(tmp_path / "chat.jsonl", *told)
    first = brought(memory, "openai", path)
    assert first.line is not None
    again = brought(memory, "openai", path)
    assert (again.line, again.added, again.known) == (None, 0, 3)
    write(path, *told, message("assistant", "ok"), message("user", "more"))
    grown = brought(memory, "openai", path)
    assert grown.line is not None
    assert (grown.added, grown.known) == (2, 3)
    assert grown.line.metadata["continues"] == first.line.session_id
    assert brought(memory, "openai", path).added == 0
    write(path, *told[1:], message("user", "trimmed and grown"))
    assert brought(memory, "openai", path).added == 1
    invariants.check(memory)


def test_a_bad_line_is_named_and_the_rest_comes_in(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(
        b'{"role":"user","content":"one"}\n{"role":"user","con\n\xff\xfe\n{"role":"robot"}\n[]\n'
        b'{"role":"user","content":"\\ud83d"}\n{"role":"user","content":"x","score":NaN}\n'
        b'{"role":"user","content":"two"}'
    )
    outcome = brought(memory, "openai", path)
    assert outcome.line is not None
    assert outcome.added == 3
    for number in (2, 3, 4, 5):
        assert any(p.startswith(f"line {number}:") for p in outcome.problems)
    assert any("JSON" in p for p in outcome.problems)
    invariants.check(memory)


@pytest.mark.parametrize("text", ["", "{}", "[1", "not json\n", '{"_type":"session"}\n'])
def test_what_is_of_another_kind_is_said_so(memory: Memory, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(SourceUnreadable):
        import_file(memory.store, "nanobot", path)
    with pytest.raises(SourceUnreadable):
        import_file(memory.store, "nanobot", tmp_path / "none.jsonl")


def test_a_folder_means_its_session_files(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c.txt"):
        (tmp_path / name).write_text("x")
    assert [p.name for p in files_of("nanobot", tmp_path)] == ["a.jsonl", "b.jsonl"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceUnreadable):
        files_of("nanobot", tmp_path / "empty")
