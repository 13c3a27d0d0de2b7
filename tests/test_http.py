"""The HTTP API over real sockets: what it gives, what it refuses, and that no workspace sees another."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from letopis.cli.main import cli
from letopis.errors import InvalidInput
from letopis.server.app import application
from letopis.server.guard import Limits
from letopis.server.workspaces import Workspaces
from letopis.settings import SystemClock
from letopis.store.init import init
from letopis.store.keys import Keys
from letopis.store.workspace import open_workspace
from tests.serving import memory_server, opener

pytestmark = [pytest.mark.timeout(60)]


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    with memory_server(folder) as address:
        yield address


def made_key(folder: Path, scope: str = "admin") -> str:
    return Keys(open_workspace(folder), SystemClock("")).add("test", scope)[1]


# --- what it gives ------------------------------------------------------------------------------


def test_a_conversation_by_the_api(url: str) -> None:
    first = httpx2.post(
        f"{url}/api/messages", json={"key": "bot:1", "role": "user", "content": "Дуб 45 000", "id": "a"}
    )
    assert (first.status_code, first.json()["n"]) == (201, 1)
    again = httpx2.post(
        f"{url}/api/messages", json={"key": "bot:1", "role": "user", "content": "Дуб 45 000", "id": "a"}
    )
    assert again.json() == {**first.json(), "new": False}
    other = httpx2.post(f"{url}/api/messages", json={"key": "bot:1", "role": "user", "content": "Дуб", "id": "a"})
    assert other.status_code == 409
    session_id = first.json()["session_id"]
    httpx2.post(f"{url}/api/messages", json={"key": "bot:1", "role": "assistant", "content": "Записал"})
    read = httpx2.get(f"{url}/api/sessions/{session_id}", params={"limit": 1}).json()
    assert ([m["text"] for m in read["messages"]], read["next"]) == (["Дуб 45 000"], 2)
    assert httpx2.get(f"{url}/api/search", params={"q": "дуб"}).json()["hits"][0]["source"] == f"{session_id}#1"
    assert httpx2.get(f"{url}/api/context", params={"key": "bot:1"}).json()["blocks"]
    assert httpx2.post(f"{url}/api/close", json={"key": "bot:1"}).json() == {"session_id": session_id}
    deadline = time.monotonic() + 15
    while httpx2.get(f"{url}/api/sessions").json()["sessions"][0]["state"] != "archived":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert httpx2.delete(f"{url}/api/sessions/{session_id}").status_code == 428
    assert httpx2.delete(f"{url}/api/sessions/{session_id}", headers={"If-Match": '"x"'}).status_code == 412
    assert httpx2.delete(f"{url}/api/sessions/{session_id}", headers={"If-Match": "*"}).status_code == 200
    assert httpx2.get(f"{url}/api/sessions").json() == {"total": 0, "sessions": []}


def test_facts_are_kept_changed_and_removed_by_version(url: str) -> None:
    made = httpx2.post(f"{url}/api/facts", json={"text": "Поезд уходит в 7:40"})
    assert made.status_code == 201
    assert httpx2.post(f"{url}/api/facts", json={"text": "Поезд уходит в 7:40"}).json()["known"]
    fact, etag = made.json()["fact"], made.headers["etag"]
    where = f"{url}/api/facts/{fact['id']}"
    assert httpx2.get(where).headers["etag"] == etag
    assert httpx2.put(where, json={"text": "Поезд уходит в 8:15"}).status_code == 428
    changed = httpx2.put(where, json={"text": "Поезд уходит в 8:15"}, headers={"If-Match": etag})
    assert changed.status_code == 200
    assert httpx2.put(where, json={"text": "Поезд уходит в 9:00"}, headers={"If-Match": etag}).status_code == 412
    (now,) = httpx2.get(f"{url}/api/facts").json()["facts"]
    assert now["text"] == "Поезд уходит в 8:15"
    where = f"{url}/api/facts/{now['id']}"
    assert httpx2.delete(where, headers={"If-Match": changed.headers["etag"]}).status_code == 200
    gone = httpx2.get(where)
    assert (gone.status_code, gone.headers["content-type"]) == (404, "application/problem+json")
    refused = httpx2.post(f"{url}/api/facts", json={"text": "Пароль: qwerty12345"})
    assert refused.status_code == 422
    assert "qwerty" not in refused.text


def test_experience_by_the_api(url: str) -> None:
    case = {"question": "Сколько идёт посылка?", "answer": "Пять дней."}
    assert httpx2.post(f"{url}/api/experience/cases", json=case).status_code == 201
    assert httpx2.post(f"{url}/api/experience/cases", json=case).json()["known"]
    made = httpx2.post(f"{url}/api/experience/suggest", json={"question": "Какого цвета небо?"}).json()
    assert made["verdict"] == "ask"
    assert httpx2.get(f"{url}/api/experience/waiting").json()["total"] == 1
    where = f"{url}/api/experience/suggestions/{made['id']}/review"
    given_ = {"outcome": "rejected", "right_answer": "Голубого.", "reviewer": "Ольга"}
    assert httpx2.post(where, json=given_).json()["case"]["answer"] == "Голубого."
    assert httpx2.post(where, json=given_).status_code == 422
    assert httpx2.get(f"{url}/api/experience/cases").json()["total"] == 2


def test_notes_status_metrics_and_events(url: str, folder: Path) -> None:
    (folder / "memory" / "plan.md").write_text("# План\n\nКупить доски", "utf-8")
    (folder / "memory" / "2026-01-01-raw-archive.md").write_text("raw", "utf-8")
    assert httpx2.get(f"{url}/api/notes").json()["notes"] == ["memory/plan.md"]
    assert "доски" in httpx2.get(f"{url}/api/notes/memory/plan.md").json()["text"]
    for name in (
        "memory/2026-01-01-raw-archive.md",
        "../letopis.toml",
        "%2e%2e/x",
        ".letopis/facts.jsonl",
        "memory/a%00",
    ):
        assert httpx2.get(f"{url}/api/notes/{name}").status_code == 404
    assert httpx2.get(f"{url}/api/status").json()["sessions"]["live"] == 0
    assert 'route="/api/status",status="200"' in httpx2.get(f"{url}/metrics").text
    assert httpx2.get(f"{url}/health").json() == httpx2.get(f"{url}/ready").json() == {"status": "ok"}
    with httpx2.stream("GET", f"{url}/api/events", timeout=10) as events:
        assert next(events.iter_lines()).startswith(":")


# --- what it refuses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Length": "nonsense"}, 400),
        ({"Authorization": "Bearer letopis_wrong"}, 401),
    ],
)
def test_no_web_page_and_no_stranger_gets_in(url: str, headers: dict[str, str], status: int) -> None:
    body = b'{"text": "x"}'
    sent = {"Content-Type": "application/json", **headers}
    try:
        answer = httpx2.post(f"{url}/api/facts", content=body, headers=sent)
        assert answer.status_code == status
    except httpx2.HTTPError:
        assert status == 400
    assert httpx2.get(f"{url}/api/facts").json()["total"] == 0
    assert httpx2.options(f"{url}/api/facts", headers={"Origin": url}).status_code == 405


def test_limits_of_size_number_and_time(folder: Path) -> None:
    with memory_server(folder, limits=Limits(body=10_000, per_minute=5, at_once=2, seconds=1.0)) as url:
        assert httpx2.post(f"{url}/api/facts", json={"text": "x" * 20_000}).status_code == 413

        def endless() -> Iterator[bytes]:
            for _ in range(100):
                yield b'"' + b"x" * 1_000

        chunked = httpx2.post(f"{url}/api/facts", content=endless(), headers={"content-type": "application/json"})
        assert chunked.status_code == 413
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as slow:
            slow.sendall(
                b"POST /api/facts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100\r\n\r\n{"
            )
            slow.settimeout(10)
            assert b" 408 " in slow.recv(100)
        answers = [httpx2.post(f"{url}/api/close", json={"key": "k"}).status_code for _ in range(8)]
        assert answers[-1] == 429
        assert httpx2.get(f"{url}/api/facts").status_code == 200


def test_json_bombs_and_odd_values_get_a_clear_error(url: str) -> None:
    for body in (b"[" * 100_000, b'{"key": "k", "role": "user", "content": ' + b"[" * 3_000 + b"]" * 3_000 + b"}",
                 b'{"key": "\\ud800", "role": "user", "content": "\\ud800\\u0000"}', b'{"key": "", "role": "user"}',
                 b'{"key": "k", "role": "user", "content": 1e999}', b"\xff\xfe"):  # fmt: skip
        answer = httpx2.post(f"{url}/api/messages", content=body, headers={"content-type": "application/json"})
        assert answer.status_code < 500, (body[:40], answer.text)
    answer = httpx2.get(f"{url}/api/sessions/..%2F..%2Fetc%2Fpasswd")
    assert answer.status_code == 404


# --- keys and workspaces ------------------------------------------------------------------------


def test_a_key_opens_what_its_scope_allows_until_it_is_revoked(folder: Path) -> None:
    keys = {scope: made_key(folder, scope) for scope in ("read", "write", "admin")}
    stored = (folder / ".letopis" / "keys.jsonl").read_text("utf-8")
    assert not any(key in stored for key in keys.values())
    with memory_server(folder) as url:
        assert httpx2.get(f"{url}/api/facts").status_code == 401
        for scope, key in keys.items():
            mine = {"Authorization": f"Bearer {key}"}
            assert httpx2.get(f"{url}/api/facts", headers=mine).status_code == 200
            kept = httpx2.post(f"{url}/api/facts", json={"text": f"Факт про {scope}"}, headers=mine)
            assert kept.status_code == (403 if scope == "read" else 201)
            removed = httpx2.delete(f"{url}/api/facts/zz", headers={**mine, "If-Match": "*"})
            assert removed.status_code == (403 if scope == "read" else 404)
            gone = httpx2.delete(f"{url}/api/sessions/zzzz", headers={**mine, "If-Match": "*"})
            assert gone.status_code == (404 if scope == "admin" else 403)
        own = Keys(open_workspace(folder), SystemClock(""))
        own.revoke(own.all()[0].id)
        assert httpx2.get(f"{url}/api/facts", headers={"Authorization": f"Bearer {keys['read']}"}).status_code == 401
        with pytest.raises(InvalidInput):
            own.revoke("k0")
        with pytest.raises(InvalidInput):
            own.add("x", "everything")


def test_what_may_be_served_without_keys(folder: Path, tmp_path: Path) -> None:
    for words in (["--host", "0.0.0.0"], ["--root", str(tmp_path)]):
        made = CliRunner().invoke(cli, ["serve", "--workspace", str(folder), *words])
        assert "letopis keys add" in str(made.exception or made.output)
    where = ["--workspace", str(folder)]
    shown = json.loads(CliRunner().invoke(cli, ["keys", "add", "бот", *where, "--json"]).output)
    assert "бот" in CliRunner().invoke(cli, ["keys", "list", *where]).output
    CliRunner().invoke(cli, ["keys", "revoke", shown["id"], *where], catch_exceptions=False)
    assert "No keys" in CliRunner().invoke(cli, ["keys", "list", *where]).output


NAMES = ("a", "b", "c", "d", "e")
CALLS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(
            ["fact", "message", "search", "facts", "sessions", "note", "history", "case", "suggest", "context"]
        ),
        st.sampled_from(["", "../b", "b/memory/MEMORY.md", "/etc/passwd", "..%2fb", "b"]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[str, str]]]:
    root = tmp_path_factory.mktemp("root")
    keys = {}
    for name in NAMES:
        init(root / name)
        keys[name] = made_key(root / name)
        (root / name / "memory" / "note.md").write_text(f"тайна-{name}-тайна", "utf-8")
    workspaces = Workspaces(root, opener(None), several=True)
    app = application(workspaces, limits=Limits(per_minute=1_000_000))
    yield app, keys
    workspaces.close()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(calls=CALLS)
@pytest.mark.slow
def test_no_call_shows_a_byte_of_another_workspace(five: tuple[Any, dict[str, str]], calls: list[Any]) -> None:
    app, keys = five

    async def run() -> None:
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for name, what, odd in calls:
                headers = {"Authorization": f"Bearer {keys[name]}", "X-Workspace": odd, "X-Letopis-Workspace": odd}
                answer = await _asked(client, headers, name, what, odd)
                others = [f"тайна-{other}-тайна" for other in NAMES if other != name]
                assert not any(other in answer.text for other in others), (name, what, odd)
                assert answer.status_code < 500, answer.text

    asyncio.run(run())


async def _asked(client: Any, headers: dict[str, str], name: str, what: str, odd: str) -> Any:
    text = f"тайна-{name}-тайна {odd}"
    posts: dict[str, tuple[str, dict[str, Any]]] = {
        "fact": ("/api/facts", {"text": text}),
        "message": ("/api/messages", {"key": odd or "k", "role": "user", "content": text}),
        "case": ("/api/experience/cases", {"question": f"Что за {text}?", "answer": text, "collection": odd or None}),
        "suggest": ("/api/experience/suggest", {"question": f"Что за тайна {odd}?"}),
    }
    if what in posts:
        return await client.post(posts[what][0], json=posts[what][1], headers=headers)
    gets: dict[str, tuple[str, dict[str, str]]] = {
        "search": ("/api/search", {"q": "тайна"}),
        "note": (f"/api/notes/{odd or 'memory/note.md'}", {}),
        "history": (f"/api/sessions/{odd or 'x'}", {}),
        "context": ("/api/context", {"key": odd or "k"}),
    }
    path, params = gets.get(what, (f"/api/{what}", {}))
    return await client.get(path, params=params, headers=headers)


# --- by its own description ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_schemathesis_finds_no_server_error(folder: Path) -> None:
    import schemathesis

    with memory_server(folder, limits=Limits(per_minute=10**9)) as url:
        schema = schemathesis.openapi.from_dict(httpx2.get(f"{url}/openapi.json").json())
        for result in schema.get_all_operations():
            operation = result.ok()
            if operation.path == "/api/events":
                continue
            strategy = operation.as_strategy()

            @settings(max_examples=12, deadline=None, derandomize=True, database=None,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @given(case=strategy)
            def attempt(case: Any) -> None:
                response = case.call(base_url=url)
                assert response.status_code < 500 or response.status_code == 503, (
                    case.method,
                    case.path,
                    response.text,
                )

            attempt()
