"""The tools: statuses, bounds, errors a model can act on, and shared conversations kept apart."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis import tools
from letopis.memory import Memory
from letopis.tools import ToolContext
from tests.conftest import Opener, assistant, user
from tests.test_jsonl import json_values


def context(memory: Memory, key: str = "cli:local", text: str = "Мой пёс Рекс любит рыбу") -> ToolContext:
    stored = memory.append(key, user(text))
    shared = any(key.startswith(p.rstrip("*")) for p in memory.store.settings.session.shared_keys)
    return ToolContext(memory.store, memory.index, key, stored.session_id, stored.n, shared)


def call(memory: Memory, where: ToolContext, name: str, arguments: object) -> dict[str, object]:
    result = dict(tools.call(tools.available(memory.store), where, name, arguments))
    json.dumps(result)
    return result


def test_a_fact_is_saved_from_the_message_at_hand(memory: Memory) -> None:
    where = context(memory)
    result = call(memory, where, "save_memory", {"operations": [{"op": "add", "text": "Пёс Рекс любит рыбу"}]})
    assert result["status"] == "ok"
    (fact,) = memory.facts()
    assert fact.sources == (f"{where.session_id}#{where.n}",)


def test_one_wrong_operation_spoils_no_other(memory: Memory) -> None:
    operations = [
        {"op": "add", "text": "Пёс Рекс любит рыбу"},
        {"op": "add", "text": {"t": 1}},
        {"op": "jump"},
        "x",
        {"op": "add", "text": "Пёс Барон любит рыбу"},
    ]
    result = call(memory, context(memory), "save_memory", {"operations": operations})
    assert [f.text for f in memory.facts()] == ["Пёс Рекс любит рыбу"]
    assert len(result["refused"]) == 4  # type: ignore[arg-type]


def test_a_fact_is_replaced_and_removed_by_its_old_text(memory: Memory) -> None:
    memory.remember("Пса зовут Рекс")
    where = context(memory, text="Пса теперь зовут Барон")
    replace = {"op": "replace", "fact": "Пса зовут Рекс", "text": "Пса зовут Барон", "reason": "сказал"}
    assert call(memory, where, "save_memory", {"operations": [replace]})["status"] == "ok"
    missing = call(memory, where, "save_memory", {"operations": [{"op": "remove", "fact": "Пса зовут Шарик"}]})
    assert "no fact is exactly" in str(missing["refused"])
    assert (
        call(memory, where, "save_memory", {"operations": [{"op": "remove", "fact": "пса зовут барон"}]})["status"]
        == "ok"
    )
    assert memory.facts() == ()


@pytest.mark.parametrize("name", ["memory_search", "session_list", "session_history", "save_memory", "no_such_tool"])
@pytest.mark.parametrize("arguments", ["{", "5", "null", [], "[1]", {"limit": -1}, {"query": None, "start": "x"}, 7])
def test_any_call_gets_an_answer(memory: Memory, name: str, arguments: object) -> None:
    result = call(memory, context(memory), name, arguments)
    assert result["status"] in ("ok", "empty", "error", "degraded")
    if result["status"] == "error":
        assert result["error"] if "error" in result else result["refused"]


@given(name=st.sampled_from(["memory_search", "session_list", "session_history", "save_memory"]), arguments=json_values)
def test_any_arguments_get_an_answer(opened: Opener, name: str, arguments: object) -> None:
    memory = opened()
    assert "status" in call(memory, context(memory, "k"), name, arguments)


def test_history_begins_with_the_index_line_and_is_paged(memory: Memory) -> None:
    for number in range(30):
        memory.append("k", user(f"сообщение {number}"))
    memory.append("k", user("y" * 10_000))
    memory.close("k")
    memory.drain()
    where = context(memory)
    page = call(memory, where, "session_history", {"key": "k", "limit": 10})
    assert list(page).index("session") < list(page).index("messages")
    assert page["session"]["memory_path"].endswith("-session-raw.md")  # type: ignore[index]
    assert (len(page["messages"]), page["next_start"]) == (10, 11)  # type: ignore[arg-type]
    last = call(memory, where, "session_history", {"key": "k", "start": 31})
    assert "[cut: 6000 more characters]" in last["messages"][0]["text"]  # type: ignore[index]
    missing = call(memory, where, "session_history", {"session_id": "0" * 16})
    assert "session_list" in str(missing["error"])


def test_sessions_are_listed_newest_first_with_filters_and_pages(memory: Memory) -> None:
    for number in range(5):
        memory.append(f"k{number}", user("x"))
    memory.close("k1")
    where = context(memory, "k9")
    listed = call(memory, where, "session_list", {"limit": 2})
    assert [s["key"] for s in listed["sessions"]] == ["k9", "k4"]  # type: ignore[union-attr, index]
    assert (listed["total"], listed["next_offset"]) == (6, 2)
    (one,) = call(memory, where, "session_list", {"key": "k1"})["sessions"]  # type: ignore[misc]
    assert one["state"] == "closing"


def test_search_is_bounded_fenced_and_hides_secrets(memory: Memory) -> None:
    for number in range(40):
        memory.append("k", user(f"кухня {number} " + "слово " * 300))
    memory.append("k", {"role": "tool", "tool_call_id": "x", "content": "кухня token sk-abcdefghijklmnop1234"})
    result = call(memory, context(memory), "memory_search", {"query": "кухня", "scope": "all", "limit": 50})
    assert result["total"] == 41
    assert 0 < len(result["hits"]) < 41  # type: ignore[arg-type]
    assert "data" in str(result["notice"])
    assert "sk-abcdefghijklmnop1234" not in str(result)
    empty = call(memory, context(memory), "memory_search", {"query": "синхрофазотрон"})
    assert empty["status"] == "empty"
    assert "transcripts" in str(empty["hint"])


# --- shared conversations -----------------------------------------------------------------------


@pytest.fixture
def shared(opened: Opener) -> Memory:
    memory = opened(session__shared_keys=("group:*",))
    memory.remember("Пёс Рекс любит рыбу")
    memory.append("cli:local", user("тайна про рыбу"))
    memory.append("group:1", user("общее про рыбу"))
    memory.append("group:2", user("чужое про рыбу"))
    (memory.store.workspace.root / "USER.md").write_text("Меня зовут Аня\n", "utf-8")
    return memory


def test_a_shared_prompt_has_neither_profile_nor_facts(shared: Memory) -> None:
    private, common = str(shared.context("cli:local").messages), str(shared.context("group:1").messages)
    for text in ("Пёс Рекс", "Аня"):
        assert text in private
        assert text not in common


def test_shared_search_and_lists_see_only_their_own_key(shared: Memory) -> None:
    where = context(shared, "group:1", "рыба")
    found = call(shared, where, "memory_search", {"query": "рыба", "scope": "all"})
    assert {hit.get("key") for hit in found["hits"]} == {"group:1"}  # type: ignore[union-attr, attr-defined]
    listed = call(shared, where, "session_list", {})
    assert [s["key"] for s in listed["sessions"]] == ["group:1"]  # type: ignore[union-attr, index]


def test_shared_history_does_not_read_another_session_by_id_or_key(shared: Memory) -> None:
    where = context(shared, "group:1", "рыба")
    private = shared.sessions(key="cli:local")[0].session_id
    assert call(shared, where, "session_history", {"session_id": private})["status"] == "error"
    assert call(shared, where, "session_history", {"key": "group:2"})["status"] == "error"
    assert call(shared, where, "session_history", {})["status"] == "ok"


def test_nothing_said_in_a_shared_conversation_becomes_a_fact(shared: Memory) -> None:
    where = context(shared, "group:1", "Пёс Барон любит мясо")
    result = call(shared, where, "save_memory", {"operations": [{"op": "add", "text": "Пёс Барон любит мясо"}]})
    assert result["status"] == "error"
    shared.turn("group:1", "Запомни, что пёс Барон любит мясо")
    assert len(shared.facts()) == 1


def test_a_session_marked_shared_by_its_metadata_is_held_to_the_same(shared: Memory) -> None:
    shared.append("slack:7", assistant("рыба"), metadata={"shared": True})
    assert "Пёс Рекс" not in str(shared.context("slack:7").messages)


def test_a_closing_shared_session_gives_no_facts(opened: Opener) -> None:
    from letopis.llm.scripted import ScriptedModel, calling

    facts = {"operations": [{"op": "add", "text": "Пёс Барон любит мясо", "source": [1]}]}
    memory = opened(ScriptedModel(otherwise=calling("save_memory", facts)), session__shared_keys=("group:*",))
    memory.append("group:1", user("Пёс Барон любит мясо"))
    memory.close("group:1")
    memory.drain()
    assert memory.facts() == ()
