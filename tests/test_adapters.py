"""The adapters with the real packages: openai over a scripted server, Anthropic's memory tool."""

from pathlib import Path
from typing import Any

import openai
import pytest

from letopis.adapters.anthropic import MemoryTool
from letopis.adapters.openai import remembering
from letopis.llm.scripted_server import ScriptedServer
from letopis.memory import Memory
from tests.conftest import assistant, user

pytestmark = [pytest.mark.timeout(30)]


# --- openai -------------------------------------------------------------------------------------


def test_two_lines_give_a_client_a_memory(memory: Memory) -> None:
    memory.remember("Чай пью без сахара")
    with ScriptedServer("Первый ответ.", "Второй ответ.", "Третий длинный ответ.") as upstream:
        client = remembering(openai.OpenAI(base_url=upstream.url, api_key="x"), memory, key="bot:1")
        chat: list[Any] = [{"role": "system", "content": "You are a pirate."}, user("раз")]
        answer = client.chat.completions.create(model="t", messages=chat)
        chat += [assistant(answer.choices[0].message.content), user("два")]
        client.chat.completions.create(model="t", messages=chat, temperature=0.1)
        stream = client.chat.completions.create(model="t", messages=[user("три")], stream=True)
        for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                break
        stream.close()
        system = str(upstream.requests[0]["messages"][0]["content"])
        assert system.startswith("You are a pirate.")
        assert "Чай пью без сахара" in system
        assert upstream.requests[1]["temperature"] == 0.1
        assert client.base_url == openai.OpenAI(base_url=upstream.url, api_key="x").base_url
    told = [m.text for m in memory.history(key="bot:1")[1].messages]
    assert told == ["раз", "Первый ответ.", "два", "Второй ответ.", "три", "Третий"]


# --- Anthropic's memory tool --------------------------------------------------------------------


def test_what_claude_keeps_are_notes_that_are_searched(memory: Memory, folder: Path) -> None:
    tool = MemoryTool(memory)
    assert tool.to_dict()["name"] == "memory"

    def run(command: str, **fields: Any) -> str:
        return str(tool.call({"command": command, **fields}))

    run("create", path="/memories/clients/anna.txt", file_text="Анна любит чай\nи не любит кофе")
    assert (folder / "memory/notes/clients/anna.txt.md").read_text("utf-8") == "Анна любит чай\nи не любит кофе"
    assert "/memories/clients/anna.txt" in run("view", path="/memories")
    assert "     2\tи не любит кофе" in run("view", path="/memories/clients/anna.txt", view_range=[2, -1])
    run("str_replace", path="/memories/clients/anna.txt", old_str="чай", new_str="какао")
    run("insert", path="/memories/clients/anna.txt", insert_line=1, insert_text="Живёт в Томске\n")
    assert memory.search("Томск").hits[0].path == "memory/notes/clients/anna.txt.md"
    run("rename", old_path="/memories/clients", new_path="/memories/people")
    assert "Живёт в Томске" in run("view", path="/memories/people/anna.txt")
    run("delete", path="/memories/people")
    assert "anna" not in run("view", path="/memories")
    assert any("какао" in p.read_text("utf-8") for p in (folder / ".letopis/backups").glob("anna*"))
    run("create", path="/memories/x", file_text="1")
    tool.clear_all_memory()
    assert "/memories/x" not in run("view", path="/memories")


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("view", {"path": "/etc/passwd"}),
        ("view", {"path": "/memories/../../letopis.toml"}),
        ("view", {"path": "/memories/none"}),
        ("create", {"path": "/memories/../MEMORY", "file_text": "x"}),
        ("create", {"path": "/memories/.hidden", "file_text": "x"}),
        ("create", {"path": "/memories/a", "file_text": "пароль: qwerty12345"}),
        ("create", {"path": "/memories", "file_text": "x"}),
        ("str_replace", {"path": "/memories/two", "old_str": "a", "new_str": "b"}),
        ("insert", {"path": "/memories/two", "insert_line": 9, "insert_text": "x"}),
        ("delete", {"path": "/memories"}),
        ("delete", {"path": "/memories/none"}),
        ("rename", {"old_path": "/memories/one", "new_path": "/memories/two"}),
        ("rename", {"old_path": "/memories/none", "new_path": "/memories/more"}),
    ],
)
def test_a_wrong_command_says_what_is_wrong_and_changes_nothing(
    memory: Memory, folder: Path, command: str, fields: dict[str, Any]
) -> None:
    tool = MemoryTool(memory)
    for name in ("one", "two"):
        tool.call({"command": "create", "path": f"/memories/{name}", "file_text": "a a"})
    before = {p: p.read_bytes() for p in folder.rglob("*.md")}
    assert str(tool.call({"command": command, **fields})).startswith("Error")
    assert {p: p.read_bytes() for p in folder.rglob("*.md")} == before


def test_a_link_leads_nowhere(memory: Memory, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "memory" / "notes").symlink_to(outside)
    tool = MemoryTool(memory)
    assert str(tool.call({"command": "create", "path": "/memories/x", "file_text": "x"})).startswith("Error")
    assert not list(outside.iterdir())
