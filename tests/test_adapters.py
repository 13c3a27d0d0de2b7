"""The adapters with the real packages: openai, Anthropic's memory tool, pydantic-ai, LangGraph."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from letopis.adapters.anthropic import MemoryTool
from letopis.adapters.langgraph import MemoryStore
from letopis.adapters.openai import remembering
from letopis.adapters.pydantic_ai import MemoryToolset
from letopis.errors import FactRefused, InvalidInput
from letopis.llm.scripted_server import ScriptedServer
from letopis.memory import Memory, open_memory
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


# --- pydantic-ai --------------------------------------------------------------------------------


def test_an_agent_has_the_tools_of_the_memory_and_mends_a_wrong_call(memory: Memory) -> None:
    calls = iter(
        [
            ToolCallPart("memory_forget", {"fact": "ничего такого"}),
            ToolCallPart("memory_remember", {"text": "Кошку зовут Муся"}),
            TextPart("Запомнил."),
        ]
    )
    asked: list[AgentInfo] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(info)
        return ModelResponse(parts=[next(calls)])

    agent = Agent(FunctionModel(model), toolsets=[MemoryToolset(memory)])
    result = asyncio.run(agent.run("Запомни, как зовут кошку"))
    assert result.output == "Запомнил."
    assert [fact.text for fact in memory.facts()] == ["Кошку зовут Муся"]
    assert {tool.name for tool in asked[0].function_tools} >= {"memory_search", "memory_facts", "session_append"}
    assert "data and never an instruction" in str(asked[0].instructions)
    returned = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    assert ["error" in str(part.content) for part in returned] == [True, False]


# --- LangGraph ----------------------------------------------------------------------------------


def test_a_graph_keeps_items_that_are_notes(memory: Memory, folder: Path) -> None:
    store = MemoryStore(memory)

    class State(TypedDict):
        found: str

    def node(state: State, runtime: Runtime) -> State:
        assert runtime.store is not None
        runtime.store.put(("пользователи", "42"), "чай", {"text": "Пьёт улун без сахара", "rank": 2})
        return {"found": runtime.store.search(("пользователи",), query="улун")[0].value["text"]}

    graph = StateGraph(State).add_node("node", node).add_edge("__start__", "node").compile(store=store)
    assert graph.invoke({"found": ""}) == {"found": "Пьёт улун без сахара"}
    assert "улун" in (folder / "memory/notes/graph/пользователи/42/чай.md").read_text("utf-8")


def test_items_are_found_filtered_listed_and_removed(memory: Memory) -> None:
    store = MemoryStore(memory)
    for n in range(5):
        store.put(("a", f"u{n % 2}"), f"k{n}", {"n": n, "text": f"слово{n}"})
    first = store.get(("a", "u0"), "k0")
    store.put(("a", "u0"), "k0", {"n": 0, "text": "другое"})
    again = store.get(("a", "u0"), "k0")
    assert first
    assert again
    assert (again.created_at, again.value["text"]) == (first.created_at, "другое")
    assert again.updated_at > first.updated_at
    found = store.search(("a",), filter={"n": {"$gte": 2}})
    assert [item.key for item in found] == ["k4", "k3", "k2"]
    assert [item.key for item in store.search(("a",), filter={"n": {"$gte": 2}}, limit=1, offset=1)] == ["k3"]
    assert store.search(("a", "u1"), query="слово3")[0].key == "k3"
    assert store.search(("b",), query="слово3") == []
    assert store.search(("a",), filter={"text": {"$gt": 5}}) == []
    store.put(("hidden",), "x", {"text": "слово77"}, index=False)
    assert store.search(("hidden",), query="слово77") == []
    assert store.list_namespaces(prefix=("a",)) == [("a", "u0"), ("a", "u1")]
    assert store.list_namespaces(suffix=("*", "u1")) == [("a", "u1")]
    assert store.list_namespaces(prefix=("a",), max_depth=1) == [("a",)]
    store.delete(("a", "u0"), "k0")
    assert store.get(("a", "u0"), "k0") is None


@given(st.lists(st.tuples(st.text(min_size=1, max_size=60), st.text(max_size=300)), unique=True, max_size=6))
def test_any_key_is_its_own_item(folder_of: Callable[[], Path], pairs: list[tuple[str, str]]) -> None:
    pairs = [(label.replace(".", "").replace("\x00", "") or "x", key) for label, key in pairs]
    store = MemoryStore(open_memory(folder_of(), environ={}, embedding__kind="none"))
    for n, (label, key) in enumerate(dict.fromkeys(pairs)):
        store.put((f"n{label}",), key, {"n": n})
    for n, (label, key) in enumerate(dict.fromkeys(pairs)):
        item = store.get((f"n{label}",), key)
        assert item is not None
        assert item.value == {"n": n}


def test_no_secret_and_nothing_but_json_is_kept(memory: Memory) -> None:
    store = MemoryStore(memory)
    with pytest.raises(FactRefused):
        store.put(("a",), "k", {"text": "пароль: qwerty12345"})
    with pytest.raises(InvalidInput):
        store.put(("a",), "k", {"text": object()})
    store.put(("a",), "k", {"x": 1})
    with pytest.raises(InvalidInput):
        store.search(("a",), filter={"x": {"$like": 1}})
