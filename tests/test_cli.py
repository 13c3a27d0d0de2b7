"""The command line as a person and a script use it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from letopis.cli.main import COMMANDS, cli
from letopis.cli.reference import commands, settings
from letopis.errors import LetopisError
from letopis.llm.scripted_server import Calls, Fault, ScriptedServer

Run = Callable[..., Result]


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(folder)

    def runner(*args: str, input: str | bytes | None = None, fails: bool = False) -> Result:
        result = CliRunner().invoke(cli, list(args), input=input)
        if isinstance(result.exception, LetopisError):
            assert fails, result.exception
        else:
            assert (result.exit_code != 0) is fails, result.output
        return result

    return runner


def records(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def record(result: Result) -> dict[str, object]:
    (one,) = records(result)
    return one


def test_init_makes_adopts_and_changes_nothing(tmp_path: Path, run: Run) -> None:
    old = tmp_path / "old-bot"
    (old / "memory").mkdir(parents=True)
    (old / "SOUL.md").write_text("my soul")
    (old / "memory/MEMORY.md").write_text("- a fact\n")
    (old / ".gitignore").write_text("*.log")
    made = record(run("init", str(old), "--json"))
    assert "SOUL.md" not in made["made"]  # type: ignore[operator]
    assert (old / "SOUL.md").read_text() == "my soul"
    assert (old / "memory/MEMORY.md").read_text() == "- a fact\n"
    assert (old / ".gitignore").read_text().startswith("*.log\n")
    assert record(run("init", str(old), "--json"))["made"] == []
    shown = record(run("--workspace", str(old), "memory", "show", "--json"))
    assert [f["text"] for f in shown["facts"]] == ["a fact"]  # type: ignore[union-attr, index]


def test_the_workspace_is_found_from_below_the_environment_and_the_flag(
    folder: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder / "memory")
    assert record(run("status", "--json"))["workspace"] == str(folder)
    monkeypatch.chdir(tmp_path)
    assert "letopis init" in str(run("status", fails=True).exception)
    monkeypatch.setenv("LETOPIS_WORKSPACE", str(folder))
    assert record(run("--json", "status"))["workspace"] == str(folder)
    monkeypatch.setenv("LETOPIS_WORKSPACE", str(tmp_path / "none"))
    assert "LETOPIS_WORKSPACE" in str(run("status", fails=True).exception)
    assert record(run("status", "--workspace", str(folder), "--json"))["workspace"] == str(folder)


def test_remember_show_why_remove_undo(run: Run) -> None:
    kept = record(run("remember", "Отчёт", "нужен к 5 июня", "--json"))
    assert "Known already" in run("remember", "отчёт нужен к 5 июня.").output
    why = record(run("memory", "why", str(kept["fact"]), "--json"))
    assert why["sources"][0]["text"] == "Отчёт нужен к 5 июня"  # type: ignore[index]
    gone = record(run("memory", "remove", "отчёт", "--json"))
    assert "Nothing is remembered" in run("memory", "show").output
    assert "no longer remembered" in run("memory", "why", str(kept["fact"])).output
    run("memory", "undo", str(gone["event"]))
    assert "Отчёт нужен к 5 июня" in run("memory", "show").output
    assert [e["op"] for e in record(run("memory", "log", "--json"))["events"]] == ["added", "removed", "added"]  # type: ignore[union-attr, index]
    assert "Отчёт" not in run("memory", "show", "--as-of", "2020-01-01").output


def test_editing_in_an_editor_is_kept_with_its_history(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf -- '- Написано рукой\\n' >> \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert "1 facts" in run("memory", "edit").output
    assert "by hand" in run("memory", "log").output


def test_a_chat_line_by_line_as_json(run: Run, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("строка один\nстрока два\n", "utf-8")
    lines = [
        json.dumps({"message": "Запомни, что кота зовут Барсик\nи ещё строка"}),
        json.dumps("Как зовут кота?"),
        f"/file {letter}",
        "/memory",
        "/search кота",
        "/history",
        "/context",
        "/sessions",
        "/remember Кот любит рыбу",
        "/help",
        "/nonsense",
        "/new",
        "/new",
        "",
    ]
    events = records(run("chat", "--json", input="\n".join(lines), fails=True))
    kinds = [event["event"] for event in events]
    assert kinds.count("done") == 3
    assert kinds[-2:] == ["empty", "archived"] or "archived" in kinds[-2:]
    done = [e for e in events if e["event"] == "done"]
    assert "Барсик" in str(done[1]["text"])
    history = next(e for e in events if e["event"] == "history")
    assert [m["text"] for m in history["messages"] if m["role"] == "user"] == [  # type: ignore[union-attr, index]
        "Запомни, что кота зовут Барсик\nи ещё строка",
        "Как зовут кота?",
        "строка один\nстрока два\n",
    ]
    archived = next(e for e in events if e["event"] == "archived")
    assert archived["summary_status"] == "raw"


def test_a_chat_in_plain_lines_finishes_its_closings(run: Run, folder: Path) -> None:
    output = run("chat", input="привет\nкак дела\n/new\n/quit\nне попадёт\n").output
    assert "Archived" in output
    assert not list((folder / "sessions/closing").glob("*"))
    assert "не попадёт" not in "".join(p.read_text("utf-8") for p in folder.rglob("*.jsonl"))


def test_a_chat_with_a_model_streams_and_shows_its_failures(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ("Привет от модели.", Calls((("session_list", {}),)), "Один разговор.", Fault(status=401))
    with ScriptedServer(*script) as server:
        monkeypatch.setenv("LETOPIS_MODEL_NAME", "test")
        monkeypatch.setenv("LETOPIS_MODEL_BASE_URL", server.url)
        monkeypatch.setenv("LETOPIS_MODEL_RETRIES", "0")
        output = run("chat", input="раз\nдва\nтри\n", fails=True).output
    assert "Привет от модели." in output
    assert "[session_list" in output
    assert "Один разговор." in output
    assert "check model.api_key" in output
    assert "Your message is kept" in output


def test_close_waits_or_leaves_the_rest_to_the_worker(run: Run) -> None:
    run("chat", input="раз\nдва\n")
    assert record(run("close", "--no-wait", "--json"))["status"] == "queued"
    assert [s["state"] for s in record(run("sessions", "list", "--json"))["sessions"]] == ["closing"]  # type: ignore[union-attr, index]
    assert records(run("worker", "--once", "--json"))[0]["event"] == "archived"
    assert record(run("close", "--json"))["status"] == "empty"
    run("chat", input="три\n")
    assert "Archived" in run("close").output


def test_sessions_are_shown_and_deleted(run: Run, folder: Path) -> None:
    run("chat", input="Запомни, что кота зовут Барсик\nещё\n/new\n")
    (session,) = record(run("sessions", "list", "--json"))["sessions"]  # type: ignore[misc]
    shown = run("sessions", "show", str(session["session_id"])).output
    assert "Запомни, что кота зовут Барсик" in shown
    refused = run("sessions", "delete", str(session["session_id"]), input="n\n", fails=True)
    assert "Барсик" in refused.output
    gone = record(run("sessions", "delete", str(session["session_id"]), "--yes", "--json"))
    assert session["transcript_path"] in gone["removed"]  # type: ignore[operator]
    assert [f["text"] for f in gone["facts_resting_on_it"]] == ["Кота зовут Барсик"]  # type: ignore[union-attr, index]
    assert record(run("sessions", "list", "--json"))["sessions"] == []
    assert "no session" in str(run("sessions", "show", "0" * 16, fails=True).exception)
    why = record(run("memory", "why", "барсик", "--json"))
    assert why["sources"] == []
    assert len(why["missing"]) == 1  # type: ignore[arg-type]


def test_search_prints_and_says_when_it_relaxes(run: Run) -> None:
    run("remember", "Маша купила белую краску")
    assert "краску" in run("search", "краска").output
    assert "Nothing holds all these words" in run("search", "краска слон").output
    assert record(run("search", "слон", "--json"))["status"] == "empty"


def test_config_names_every_value_and_hides_keys(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LETOPIS_MODEL_API_KEY", "top-secret-key")
    output = run("config").output
    assert "top-secret-key" not in output
    assert "environment LETOPIS_MODEL_API_KEY" in output
    rows = record(run("config", "--json"))["settings"]
    assert {"context_window_tokens", "model.base_url"} <= {r["name"] for r in rows}  # type: ignore[union-attr, index]


def test_a_flag_outranks_everything_and_a_wrong_one_names_itself(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LETOPIS_CONTEXT_WINDOW_TOKENS", "9000")
    rows = record(run("--set", "contextWindowTokens=5000", "config", "--set", "durability=batch", "--json"))["settings"]
    values = {r["name"]: (r["value"], r["from"]) for r in rows}  # type: ignore[union-attr, index]
    assert values["context_window_tokens"] == (5000, "flag")
    assert values["durability"] == ("batch", "flag")
    assert "at least 2000" in str(run("status", "--set", "context_window_tokens=5", fails=True).exception)
    assert run("status", "--set", "nonsense", fails=True).exit_code == 2
    assert run("search", "x", "--since", "tomorrow", fails=True).exit_code == 2
    assert run("chat", "--persona", "nobody", fails=True).exit_code != 0


def test_the_demo_shows_the_file_of_each_layer(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    output = run("demo").output
    for name in ("memory/MEMORY.md", "-session-raw.md", "sessions/archive/", "_sessions.jsonl", ".letopis/facts.jsonl"):
        assert f"━━ {name}" in output or name in output
    assert "встречи лучше ставить после 11:00" in output.lower()
    assert list(tmp_path.glob("letopis-demo-*")) == []


def test_control_characters_of_others_do_not_reach_the_terminal(run: Run, folder: Path) -> None:
    (folder / "memory/note.md").write_text("кухня \x1b]0;title\x07 \x1b[2J end\n")
    output = run("search", "кухня").output
    assert "\x1b]" not in output
    assert "\x1b[2J" not in output
    assert "end" in output


def test_every_command_is_in_the_reference_and_every_setting_too() -> None:
    docs = Path(__file__).parent.parent / "docs"
    assert commands().strip() in (docs / "commands.md").read_text("utf-8")
    assert settings().strip() in (docs / "settings.md").read_text("utf-8")
    assert all(f"## letopis {name}" in commands() for name in COMMANDS)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_errors_of_the_installed_command_are_short_and_exit_with_one(tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path), "LETOPIS_CONFIG": str(tmp_path / "no.toml")}
    for args, code, words in (
        (["status"], 1, "letopis init"),
        (["status", "--json"], 1, '"status": "error"'),
        (["no-such-command"], 2, "there is no command"),
        (["--help"], 0, "Commands"),
        (["--version"], 0, "0.1.0"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "letopis", *args],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert words in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
