"""The description of the API has an example of every answer, and the server answers in that form."""

import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from letopis.llm.connect import Models
from letopis.llm.port import Reply, Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory
from letopis.server.app import application
from letopis.server.workspaces import Workspaces
from letopis.store.init import init
from tests.serving import memory_server, opener, serving

STREAMS = ("/api/events", "/api/turn")
pytestmark = [pytest.mark.timeout(60)]


def answers(folder: Path) -> dict[str, Any]:
    """An answer of every route that answers in JSON."""
    found: dict[str, Any] = {}
    with memory_server(folder) as url, httpx2.Client(base_url=url) as client:

        def ask(method: str, route: str, *names: str, headers: Any = None, **more: Any) -> Any:
            path = route
            for name in names:
                path = f"{path[: path.index('{')]}{name}{path[path.index('}') + 1 :]}"
            answer = client.request(method, path, headers=headers, **more)
            assert answer.status_code < 300, answer.text
            found[f"{method} {route}"] = answer.json()
            return answer

        said = {"key": "telegram:12345", "role": "user", "content": "The report is due on 5 June"}
        session = ask("POST", "/api/messages", json=said).json()["session_id"]
        ask("GET", "/api/sessions")
        ask("GET", "/api/sessions/{session_id}", session)
        ask("GET", "/api/context", params={"key": "telegram:12345"})
        fact = ask("POST", "/api/facts", json={"text": "The report is due on 5 June"}).json()["fact"]["id"]
        ask("GET", "/api/facts")
        etag = ask("GET", "/api/facts/{fact_id}", fact).headers["etag"]
        ask("GET", "/api/search", params={"q": "report"})
        ask("GET", "/api/status")
        changed = ask("PUT", "/api/facts/{fact_id}", fact, json={"text": "The report is due on 8 June"},
                      headers={"If-Match": etag})  # fmt: skip
        ask("GET", "/api/facts/{fact_id}/history", changed.json()["id"])
        ask("GET", "/api/notes")
        ask("GET", "/api/notes/{name}", "memory/MEMORY.md")
        gone = ask(
            "DELETE", "/api/facts/{fact_id}", changed.json()["id"], headers={"If-Match": changed.headers["etag"]}
        )
        ask("POST", "/api/facts/undo", json={"event": gone.json()["event"]})
        profile = ask("GET", "/api/profile")
        ask("PUT", "/api/profile", json={"text": "I live in Kazan."}, headers={"If-Match": profile.headers["etag"]})
        ask("GET", "/api/sessions/{session_id}/find", session, params={"words": "report"})
        (folder / "sessions" / "damaged.jsonl").write_text("{\n")
        ask("GET", "/api/findings")
        ask("POST", "/api/findings/repair")
        question = {"question": "How do I return a jacket?"}
        ask("POST", "/api/experience/cases", json={**question, "answer": "Within 14 days, with the receipt."})
        ask("GET", "/api/experience/cases")
        other = client.post("/api/experience/cases", json={"question": "Is it open on Sunday?", "answer": "No."}).json()
        ask("POST", "/api/experience/cases/{case_id}/end", other["case"]["id"], json={})
        suggestion = ask("POST", "/api/experience/suggest", json=question).json()["id"]
        ask("GET", "/api/experience/waiting")
        ask("POST", "/api/experience/suggestions/{suggestion}/review", suggestion, json={"outcome": "approved"})
        ask("POST", "/api/close", json={"key": "telegram:12345"})
        deadline = time.monotonic() + 20
        while (
            client.get("/api/sessions", params={"key": "telegram:12345"}).json()["sessions"][0]["state"] != "archived"
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        ask("DELETE", "/api/sessions/{session_id}", session, headers={"If-Match": "*"})
        found["openapi"] = client.get("/openapi.json").json()
    return found


def summary_again(folder: Path) -> Any:
    """The answer of the one route that needs a model: a session was kept raw, and now there is one."""

    def model(request: Request) -> Reply:
        if request.tools[0].name == "save_summary":
            return calling("save_summary", {"title": "Kitchen", "summary": "The user wants a white kitchen."})
        return calling("save_memory", {"operations": []})

    bare = opener(None)(folder)
    for text in ("I want a white kitchen", "And it must be cheap"):
        bare.append("bot", {"role": "user", "content": text})
    session = bare.close("bot")
    bare.drain()

    def opened(path: Path) -> Memory:
        memory = opener(None)(path)
        memory.models = Models(None, ScriptedModel(otherwise=model))
        return memory

    with serving(application(Workspaces(folder, opened))) as url:
        made = httpx2.post(f"{url}/api/summaries", json={"session_id": session}, timeout=30)
        assert made.status_code == 200, made.text
        again = httpx2.post(f"{url}/api/summaries", json={"session_id": session}, timeout=30)
        assert again.status_code == 409
        return made.json()


def form(value: Any) -> Any:
    """The names of the fields, all the way down; of a list that of its first item."""
    if isinstance(value, dict):
        return {name: form(part) for name, part in value.items()}
    return [form(value[0])] if isinstance(value, list) and value else type(value).__name__


def test_every_answer_has_an_example_of_its_form(folder: Path, tmp_path: Path) -> None:
    found = answers(folder)
    init(tmp_path / "other")
    found["POST /api/summaries"] = summary_again(tmp_path / "other")
    routes = {
        f"{method.upper()} {path}": operation
        for path, operations in found.pop("openapi")["paths"].items()
        for method, operation in operations.items()
        if path not in STREAMS
    }
    assert set(routes) == set(found)
    for route, operation in routes.items():
        good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
        assert form(good["content"]["application/json"]["example"]) == form(found[route]), json.dumps(found[route])
