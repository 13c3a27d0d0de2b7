"""The MCP server with the real client: over stdio, over HTTP and in memory; nothing but protocol on stdout."""

import json
import os
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from click.testing import CliRunner
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from letopis.cli.main import cli
from letopis.experience.add import add
from letopis.memory import Memory
from letopis.server import mcp_server
from letopis.server.mcp_config import HOSTS, config
from letopis.server.mcp_resources import PAGE
from letopis.settings import SystemClock
from letopis.store.init import init
from letopis.store.keys import Keys
from letopis.store.workspace import open_workspace
from tests.conftest import assistant, user
from tests.serving import memory_server, serving

pytestmark = [pytest.mark.timeout(60)]


def asked(memory: Memory, task: Any, **options: Any) -> Any:
    """What a task with a client of the server in memory comes to."""

    async def run() -> Any:
        async with Client(mcp_server.server(memory), **options) as client:
            return await task(client)

    return anyio.run(run)


def called(memory: Memory, name: str, **arguments: Any) -> Any:
    async def task(client: Client) -> Any:
        return await client.call_tool(name, arguments)

    result = asked(memory, task)
    assert json.loads(result.content[0].text) == result.structured_content
    return result


# --- tools --------------------------------------------------------------------------------------


def test_every_tool_is_listed_with_what_it_may_do(memory: Memory) -> None:
    async def task(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asked(memory, task)}
    assert {
        "memory_search", "memory_facts", "memory_remember", "memory_forget", "memory_trace", "research", "save_memory",
        "session_list", "session_history", "history_search", "session_append", "session_close", "experience_search",
        "experience_save", "goal_set", "goal_done",
    } == set(tools)  # fmt: skip
    for name, tool in tools.items():
        assert tool.annotations is not None
        reads = name.endswith(("search", "facts", "trace", "list", "history")) or name == "research"
        assert tool.annotations.read_only_hint == reads
        assert tool.annotations.destructive_hint == (name in ("memory_forget", "save_memory"))
        assert tool.description
        assert all(p.get("description") or "$ref" in p or p for p in tool.input_schema["properties"].values())
        assert tool.output_schema["required"] == ["status"]


def test_what_one_host_tells_another_knows(memory: Memory) -> None:
    assert called(memory, "memory_remember", text="Чай пью без сахара").structured_content["status"] == "ok"
    assert called(memory, "memory_remember", text="Чай пью без сахара").structured_content["status"] == "known"
    facts = called(memory, "memory_facts").structured_content["facts"]
    assert [fact["text"] for fact in facts] == ["Чай пью без сахара"]
    found = called(memory, "memory_search", query="чай без сахара").structured_content
    assert any("Чай" in hit["text"] for hit in found["hits"])
    traced = called(memory, "memory_trace", fact=facts[0]["id"]).structured_content
    assert traced["sources"][0]["text"] == "Чай пью без сахара"
    assert called(memory, "memory_forget", fact=facts[0]["id"]).structured_content["status"] == "ok"
    assert called(memory, "memory_facts").structured_content["status"] == "empty"


def test_a_host_stores_its_own_conversation(memory: Memory) -> None:
    for n, (role, text) in enumerate((("user", "Мне нужно выбрать доски. Дуб 45 000"), ("assistant", "Хорошо")), 1):
        made = called(memory, "session_append", key="mcp:x", role=role, content=text, id=f"m{n}")
        assert made.structured_content["n"] == n
    again = called(memory, "session_append", key="mcp:x", role="user", content="Мне нужно", id="m1").structured_content
    assert (again["status"], again["n"]) == ("known", 1)
    found = called(memory, "history_search", words="дуб", conversation="mcp:x").structured_content
    assert "45 000" in found["lines"][0]["text"]
    assert called(memory, "goal_set", goal="Купить дуб", conversation="mcp:x").structured_content["status"] == "ok"
    saved = called(
        memory, "save_memory", conversation="mcp:x",
        operations=[{"op": "add", "text": "Дуб стоит 45 000", "source": [1]}],
    ).structured_content  # fmt: skip
    assert [change["op"] for change in saved["changes"]] == ["added"]
    closed = called(memory, "session_close", key="mcp:x").structured_content
    assert closed["session_id"] == again["session_id"]
    assert called(memory, "session_close", key="mcp:x").structured_content["status"] == "empty"
    memory.drain()
    listed = called(memory, "session_list").structured_content
    assert [line["state"] for line in listed["sessions"]] == ["archived"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory_remember", {}),
        ("memory_remember", {"text": ""}),
        ("memory_forget", {"fact": "нет такого"}),
        ("session_history", {"session_id": "zzzz"}),
        ("session_append", {"key": "", "role": "user", "content": "x"}),
        ("history_search", {"words": "x", "conversation": "none"}),
        ("no_such_tool", {}),
    ],
)
def test_a_wrong_call_says_what_is_wrong(memory: Memory, name: str, arguments: dict[str, Any]) -> None:
    result = called(memory, name, **arguments)
    assert result.is_error
    assert result.structured_content["error"]


def test_a_shared_conversation_stays_apart(memory: Memory) -> None:
    memory.append("group", user("общая беседа"), metadata={"shared": True})
    refused = called(memory, "save_memory", conversation="group", operations=[])
    assert refused.is_error
    add(memory.desk, "Сколько ждать?", "Пять дней.")
    assert called(memory, "experience_search", question="Сколько ждать?").structured_content["draft"] == "Пять дней."


# --- resources and prompts ----------------------------------------------------------------------


def test_resources_are_listed_by_pages_and_read(memory: Memory, folder: Path) -> None:
    memory.remember("Чай пью без сахара")
    session_id = memory.append("k", user("Пароль: qwerty12345")).session_id
    memory.append("k", assistant("Понял"))
    for n in range(PAGE + 5):
        (folder / "memory" / f"note-{n:03}.md").write_text(f"# {n}", "utf-8")
    (folder / "memory" / "2026-01-01-raw-archive.md").write_text("raw", "utf-8")

    async def task(client: Client) -> Any:
        uris, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            uris += [str(r.uri) for r in page.resources]
            cursor = page.next_cursor
            if not cursor:
                break
        texts = {uri: (await client.read_resource(uri)).contents[0].text for uri in uris[:6]}
        templates = (await client.list_resource_templates()).resource_templates
        with pytest.raises(MCPError, match="no cursor"):
            await client.list_resources(cursor="x")
        for wrong in (
            "letopis://note/../letopis.toml", "letopis://note/memory%2F2026-01-01-raw-archive.md", "file:///etc/passwd",
            "letopis://session/zzzz", f"letopis://session/{session_id}?start=x", "letopis://note/.letopis%2Ffacts.jsonl",
        ):  # fmt: skip
            with pytest.raises(MCPError):
                await client.read_resource(wrong)
        rest = await client.read_resource(f"letopis://session/{session_id}?start=2")
        return uris, texts, templates, rest.contents[0].text

    uris, texts, templates, rest = asked(memory, task)
    assert len(uris) == len(set(uris)) == 4 + PAGE + 5
    assert not any("raw-archive" in uri for uri in uris)
    assert "Чай пью без сахара" in texts["letopis://facts"]
    told = texts[f"letopis://session/{session_id}"]
    assert "qwerty" not in told
    assert "Понял" in told
    assert "#1" not in rest
    assert [t.uri_template for t in templates] == ["letopis://note/{name}", "letopis://session/{session_id}"]


def test_prompts_fill_in_what_they_are_given(memory: Memory) -> None:
    async def task(client: Client) -> Any:
        names = [p.name for p in (await client.list_prompts()).prompts]
        text = (await client.get_prompt("recall", {"topic": "{topic} и доски"})).messages[0].content.text
        for name, arguments in (("recall", {}), ("none", {})):
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)
        return names, text, (await client.get_prompt("wrap_up")).messages[0].content.text

    names, text, wrap = asked(memory, task)
    assert names == ["recall", "wrap_up"]
    assert "{topic} и доски" in text
    assert "session_close" in wrap


def test_a_change_is_noticed_whoever_makes_it(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "LOOK_EVERY", 0.05)

    async def task(client: Client) -> Any:
        seen: list[str] = []
        with anyio.fail_after(10):
            async with client.listen(resource_subscriptions=["letopis://facts"], resources_list_changed=True) as events:
                await anyio.to_thread.run_sync(memory.remember, "Чай пью без сахара")
                async for event in events:
                    seen.append(type(event).__name__)
                    if {"ResourceUpdated", "ResourcesListChanged"} <= set(seen):
                        return seen
        return seen

    assert asked(memory, task)


def test_older_hosts_are_served_too(memory: Memory) -> None:
    async def task(client: Client) -> Any:
        return [t.name for t in (await client.list_tools()).tools], (
            await client.call_tool("memory_facts", {})
        ).is_error

    names, wrong = asked(memory, task, mode="legacy")
    assert "memory_search" in names
    assert not wrong


# --- over stdio and HTTP ------------------------------------------------------------------------


def _parameters(folder: Path) -> StdioServerParameters:
    environment = {"LETOPIS_EMBEDDING_KIND": "none", "LETOPIS_CONFIG": str(folder / "none.toml"), "HOME": str(folder)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "letopis", "mcp", "--workspace", str(folder)], env=environment
    )


@pytest.mark.slow
def test_two_hosts_over_stdio_share_one_workspace(folder: Path) -> None:
    async def run() -> Any:
        async with (
            Client(stdio_client(_parameters(folder))) as left,
            Client(stdio_client(_parameters(folder))) as right,
        ):
            for n in range(5):
                await left.call_tool("session_append", {"key": "mcp:a", "role": "user", "content": f"слева {n}"})
                await right.call_tool("session_append", {"key": "mcp:a", "role": "user", "content": f"справа {n}"})
            await left.call_tool("memory_remember", {"text": "Поезд уходит в 7:40"})
            return (await right.call_tool("memory_search", {"query": "когда поезд"})).structured_content

    found = anyio.run(run)
    assert any("7:40" in hit["text"] for hit in found["hits"])


@pytest.mark.slow
def test_nothing_but_the_protocol_is_on_standard_output(folder: Path) -> None:
    first = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    lines = [first, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines.append({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    (folder / "memory/MEMORY.md").write_bytes(b"\xff\xff broken")
    own = _parameters(folder)
    environment = {**os.environ, **(own.env or {})}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([own.command, *own.args], text=True, env=environment, **pipes) as host:  # type: ignore[call-overload]
        host.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        host.stdin.flush()
        answers = [json.loads(host.stdout.readline()) for _ in range(2)]
        rest, errors = host.communicate(timeout=30)
    assert {answer.get("id") for answer in answers} == {1, 2}
    assert all(json.loads(line) for line in rest.splitlines())
    assert host.returncode == 0, errors


def test_over_http_and_only_for_this_machine(memory: Memory) -> None:
    with serving(mcp_server.server(memory).streamable_http_app(host="127.0.0.1")) as url:

        async def run() -> Any:
            async with Client(f"{url}/mcp") as client:
                return (await client.call_tool("memory_facts", {})).structured_content

        assert anyio.run(run)["status"] == "empty"
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            accept = {"Accept": "application/json, text/event-stream"}
            assert httpx2.post(f"{url}/mcp", json=body, headers={**accept, **headers}).status_code in (403, 421)


def test_behind_the_whole_server_a_key_reaches_its_own_workspace_and_scope(tmp_path: Path) -> None:
    keys = {}
    for name, scope in (("a", "admin"), ("a", "read"), ("b", "write")):
        init(tmp_path / name)
        keys[name, scope] = Keys(open_workspace(tmp_path / name), SystemClock("")).add("host", scope)[1]

    async def run(url: str, key: str, name: str, arguments: dict[str, Any], mode: str) -> Any:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as web,
            Client(streamable_http_client(f"{url}/mcp", http_client=web), mode=mode) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, (await client.call_tool(name, arguments)).structured_content

    told = {"text": "Кофе пью без молока"}
    with memory_server(tmp_path, several=True) as url:
        for mode in ("auto", "legacy"):
            asking = partial(anyio.run, run, url)
            tools, kept = asking(keys["a", "admin"], "memory_remember", told, mode)
            assert kept["status"] in ("ok", "known")
            assert "memory_forget" in tools
            tools, refused = asking(keys["a", "read"], "memory_remember", told, mode)
            assert "scope write" in refused["error"]
            assert not {"memory_remember", "memory_forget", "save_memory", "session_append"} & tools
            assert asking(keys["a", "read"], "memory_facts", {}, mode)[1]["total"] == 1
            assert asking(keys["b", "write"], "memory_facts", {}, mode)[1]["status"] == "empty"
        assert httpx2.post(f"{url}/mcp", json={}).status_code == 401
        assert httpx2.post(f"{url}/mcp", json={}, headers={"Host": "evil.example"}).status_code == 421


# --- configuration ------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_the_configuration_of_a_host_starts_the_server(host: str, memory: Memory) -> None:
    text, place = config(host, ["/usr/bin/letopis", "mcp", "--workspace", 'C:\\дом "мой"'])
    data = tomllib.loads(text) if host == "codex" else json.loads(text)
    servers = data.get("mcp_servers") or data.get("mcpServers") or data["servers"]
    assert servers["letopis"]["args"] == ["mcp", "--workspace", 'C:\\дом "мой"']
    assert place
    root = str(memory.store.workspace.root)
    shown = CliRunner().invoke(cli, ["mcp", "--config", host, "--workspace", root], catch_exceptions=False)
    assert root in shown.output
