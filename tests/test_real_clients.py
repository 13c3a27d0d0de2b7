"""Programs that people use, unchanged, over real sockets: npm's openai, the llm command, the MCP Inspector."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from letopis.llm.scripted_server import Answer, Calls, ScriptedServer
from tests.programs import node
from tests.serving import memory_server, opener

pytestmark = [pytest.mark.timeout(120)]
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js"


def model(body: Mapping[str, Any]) -> Answer:
    """Answers by what is asked: with a call, with JSON, or in words."""
    newest = body["messages"][-1]
    if newest["role"] == "tool":
        return f"Погода: {newest['content']}"
    if "response_format" in body:
        return json.dumps({"city": "Томск"}, ensure_ascii=False)
    if "Какая погода" in str(newest["content"]):
        return Calls((("weather", {"city": "Томск"}),))
    return "Хорошо, записал."


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    with ScriptedServer(otherwise=model) as upstream, memory_server(folder, upstream) as address:
        yield address


def test_the_npm_client_streams_calls_tools_and_parses(url: str, folder: Path, tmp_path: Path) -> None:
    told = json.loads(node("openai.mjs", f"{url}/v1", home=tmp_path))
    assert told["streamed"].endswith("записал.")
    assert told["usage"]["total_tokens"] > 0
    assert told["call"] == {"name": "weather", "arguments": {"city": "Томск"}}
    assert told["answer"] == "Погода: -12"
    assert told["parsed"] == {"city": "Томск"}
    assert told["models"]
    memory = opener(None)(folder)
    assert [fact.text for fact in memory.facts()] == ["Я пью чай без сахара"]
    roles = [m.role for m in memory.history(key="proxy:npm-tools")[1].messages]
    assert roles == ["user", "assistant", "tool", "assistant"]


def test_what_is_told_to_one_program_another_knows_by_mcp(url: str, tmp_path: Path) -> None:
    node("openai.mjs", f"{url}/v1", home=tmp_path)
    listed = json.loads(
        node(INSPECTOR, "--cli", f"{url}/mcp", "--transport", "http", "--method", "tools/list", home=tmp_path)
    )
    assert "memory_facts" in {tool["name"] for tool in listed["tools"]}
    call = ("--method", "tools/call", "--tool-name", "memory_search", "--tool-arg", "query=чай")
    answer = json.loads(node(INSPECTOR, "--cli", f"{url}/mcp", "--transport", "http", *call, home=tmp_path))
    assert any("без сахара" in hit["text"] for hit in answer["structuredContent"]["hits"])


def test_the_inspector_over_standard_input(folder: Path, tmp_path: Path) -> None:
    start = [sys.executable, "-m", "letopis", "mcp", "--workspace", str(folder)]
    for method, wanted in (
        ("tools/list", "memory_search"),
        ("resources/list", "letopis://"),
        ("prompts/list", "recall"),
    ):
        assert wanted in node(INSPECTOR, "--cli", *start, "--method", method, home=tmp_path)


def test_the_llm_command_talks_through_the_proxy(url: str, folder: Path, tmp_path: Path) -> None:
    told = f"- model_id: remembering\n  model_name: letopis\n  api_base: {url}/v1\n  api_key_name: any\n"
    (tmp_path / "extra-openai-models.yaml").write_text(told, "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LLM_USER_PATH": str(tmp_path)}
    for words in (["Запомни, что кошку зовут Муся"], ["-c", "Спасибо"]):
        command = [sys.executable, "-m", "llm", "-m", "remembering", "--key", "x", *words]
        ran = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=True)
        assert "записал" in ran.stdout
    memory = opener(None)(folder)
    assert [fact.text for fact in memory.facts()] == ["Кошку зовут Муся"]
    (line,) = memory.sessions()
    assert [m.text for m in memory.history(session_id=line.session_id)[1].messages if m.role == "user"] == [
        "Запомни, что кошку зовут Муся", "Спасибо",
    ]  # fmt: skip
