"""What once went wrong at the edges: histories, keys, limits, and hosts that share a server."""

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from letopis import toolbox
from letopis.adapters.langgraph import MemoryStore
from letopis.adapters.openai import remembering
from letopis.errors import InvalidInput
from letopis.llm.connect import Models
from letopis.llm.port import Request
from letopis.llm.scripted import ScriptedModel
from letopis.llm.scripted_server import Calls, ScriptedServer, Text
from letopis.memory import Memory
from letopis.server.conversations import Asked, Conversations
from letopis.settings import SystemClock
from letopis.store.init import init
from letopis.store.keys import Keys
from letopis.store.workspace import open_workspace
from letopis.turn import Done, Outside
from tests.conftest import assistant, user
from tests.serving import memory_server, opener
from tests.test_proxy import Chat, Proxy, echo

pytestmark = [pytest.mark.timeout(60)]


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    with ScriptedServer(otherwise=echo) as upstream, memory_server(folder, upstream) as url:
        yield Proxy(folder, upstream, url)


def asked(messages: list[tuple[str, str]]) -> list[str]:
    return [text for role, text in messages if role == "user"]


# --- histories ----------------------------------------------------------------------------------


def image(data: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]}


def test_another_image_is_another_message(proxy: Proxy) -> None:
    proxy.upstream.otherwise = "Вижу."
    for data in ("AAAA", "BBBB"):
        proxy.ask([image(data)], extra_headers={"X-Letopis-Session": "img"})
    line = proxy.memory().sessions()[0]
    stored = json.dumps([dict(m.stored) for m in proxy.memory().history(session_id=line.session_id)[1].messages])
    assert "AAAA" in stored
    assert "BBBB" in stored
    assert "BBBB" in json.dumps(proxy.upstream.requests[-1])


def test_two_chats_of_one_user_do_not_erase_each_other(proxy: Proxy) -> None:
    chats: list[Chat] = [[], []]
    for n in range(3):
        for name, chat in zip("ab", chats, strict=True):
            proxy.say(chat, f"{name}{n}", user="alice")
    (messages,) = proxy.told().values()
    assert sorted(asked(messages)) == ["a0", "a1", "a2", "b0", "b1", "b2"]
    proxy.ask([*chats[0][:-2], user("a2 иначе")], user="alice")
    (messages,) = proxy.told().values()
    assert sorted(asked(messages)) == ["a0", "a1", "a2 иначе", "b0", "b1", "b2"]


def test_two_chats_with_the_same_opening_stay_two(proxy: Proxy) -> None:
    chats: list[Chat] = [[], []]
    for chat in chats:
        proxy.say(chat, "Привет")
    for n in range(3):
        for name, chat in zip("xy", chats, strict=True):
            proxy.say(chat, f"{name}{n}")
    told = sorted(asked(messages) for messages in proxy.told().values())
    assert told == [["Привет", "x0", "x1", "x2"], ["Привет", "y0", "y1", "y2"]]


@pytest.mark.parametrize("named", [{}, {"X-Letopis-Session": "a"}])
@pytest.mark.parametrize("question", ["Есть у меня собака?", "Запомни, что собаку зовут Рекс. Есть у меня собака?"])
def test_words_before_a_look_into_the_memory_are_the_client_s_own(
    proxy: Proxy, named: dict[str, str], question: str
) -> None:
    chat: Chat = [user(question)]
    proxy.upstream.enqueue(Calls((("memory_search", {"query": "собака"}),), text="Сейчас посмотрю.\n\n"), "Да, Рекс.")
    shown = "".join(
        chunk.choices[0].delta.content or "" for chunk in proxy.ask(chat, stream=True, extra_headers=named)
        if chunk.choices
    )  # fmt: skip
    chat.append(assistant(shown))
    chat.append(user("А кошка?"))
    proxy.ask(chat, extra_headers=named)
    (messages,) = proxy.told().values()
    assert asked(messages) == [question, "А кошка?"]


def test_a_client_may_change_the_words_of_an_answer(proxy: Proxy) -> None:
    named = {"X-Letopis-Session": "a"}
    proxy.ask([user("раз")], extra_headers=named)
    chat: Chat = [user("раз"), assistant("(сокращено)"), user("два")]
    proxy.ask(chat, extra_headers=named)
    proxy.ask([*chat, assistant("иначе"), user("три")], extra_headers=named)
    (messages,) = proxy.told().values()
    assert asked(messages) == ["раз", "два", "три"]


def test_what_was_edited_away_is_no_ground_of_a_fact_nor_of_a_summary(proxy: Proxy) -> None:
    chat: Chat = []
    proxy.say(chat, "Привет")
    proxy.ask([*chat, user("Запомни, что моя машина Лада")])
    assert [fact.text for fact in proxy.memory().facts()] == ["Моя машина Лада"]
    proxy.say(chat, "Запомни, что моя машина Вольво")
    memory = proxy.memory()
    assert [fact.text for fact in memory.facts()] == ["Моя машина Вольво"]
    memory.close(memory.sessions()[0].key)
    memory.drain()
    note = next((proxy.folder / "memory").glob("*-session-raw.md")).read_text("utf-8")
    assert "Лада" not in note
    assert "Вольво" in note


def test_new_begins_anew_for_clients_that_keep_their_history(proxy: Proxy) -> None:
    chat: Chat = []
    proxy.say(chat, "Мой тайный проект — Орион")
    proxy.say(chat, "/new")
    proxy.say(chat, "Как зовут мой проект?")
    proxy.say(chat, "И ещё раз?")
    told = sorted(asked(messages) for messages in proxy.told().values())
    assert told == [["Как зовут мой проект?", "И ещё раз?"], ["Мой тайный проект — Орион"]]
    assert "Орион" not in json.dumps(proxy.upstream.requests[-1], ensure_ascii=False)


def test_a_repeated_new_and_a_key_with_another_body(proxy: Proxy) -> None:
    chat: Chat = []
    proxy.say(chat, "раз")
    again = {"Idempotency-Key": "k1"}
    for _ in range(2):
        proxy.ask([*chat, user("/new")], extra_headers=again)
    proxy.ask([user("два")], extra_headers={"Idempotency-Key": "k2"})
    with pytest.raises(openai.BadRequestError, match="another body"):
        proxy.ask([user("совсем другое")], extra_headers={"Idempotency-Key": "k2"})


# --- answers ------------------------------------------------------------------------------------


def test_an_answer_at_the_client_s_own_limit_is_an_answer(proxy: Proxy) -> None:
    proxy.upstream.enqueue(Text("Половина", "length"), Text("Пол", "length"))
    whole = proxy.ask([user("Расскажи")], max_tokens=5)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("Половина", "length")
    chunks = list(proxy.ask([user("Ещё")], max_tokens=5, stream=True))
    assert chunks[-1].choices[0].finish_reason == "length"
    assert len(proxy.upstream.requests) == 2


def test_structured_answers_stay_data(proxy: Proxy) -> None:
    class Answer(BaseModel):
        answer: int

    proxy.upstream.enqueue('{"answer": 1}')
    made = proxy.client.chat.completions.parse(
        model="letopis", messages=[{"role": "user", "content": "Запомни, что мой рейс 5 июня"}], response_format=Answer
    )
    assert made.choices[0].message.parsed == Answer(answer=1)
    assert [fact.text for fact in proxy.memory().facts()] == ["Мой рейс 5 июня"]


def test_a_client_s_tool_of_our_name_is_its_own(proxy: Proxy) -> None:
    tool = {"type": "function", "function": {"name": "memory_search", "parameters": {"type": "object"}}}
    proxy.ask([user("раз")], tools=[tool])
    names = [one["function"]["name"] for one in proxy.upstream.requests[-1]["tools"]]
    assert names.count("memory_search") == 1


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": 5}, user("y")]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [user("x")], "user": "k" * 600},
    ],
)
def test_odd_requests_are_answered_with_what_is_wrong(proxy: Proxy, body: Mapping[str, Any]) -> None:
    assert httpx2.post(f"{proxy.url}/v1/chat/completions", json=body).status_code == 400


@pytest.mark.parametrize("raw", [b'{"messages": [], "temperature": NaN}', b'{"user": "k\\ud83d", "messages": []}'])
def test_what_is_no_json_poisons_nothing(proxy: Proxy, raw: bytes) -> None:
    told = httpx2.post(f"{proxy.url}/v1/chat/completions", content=raw, headers={"content-type": "application/json"})
    assert told.status_code in (400, 422)
    assert proxy.say([], "жив?") == "Echo: жив?"


def test_a_key_of_half_a_character_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.append("k\ud83d", user("x"))
    assert memory.search("x").hits == ()


def test_tool_calls_told_by_the_api_are_kept(folder: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    with memory_server(folder) as url:
        told = [{"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "content": "5", "tool_call_id": "c1", "colour": "red"}]  # fmt: skip
        for message in told:
            assert httpx2.post(f"{url}/api/messages", json={"key": "t", **message}).status_code == 201
    stored = [m.wire for m in opener(None)(folder).history(key="t")[1].messages]
    assert stored[0]["tool_calls"] == [call]
    assert (stored[1]["tool_call_id"], stored[1]["colour"]) == ("c1", "red")


# --- passing through ----------------------------------------------------------------------------


@contextmanager
def compressing() -> Iterator[str]:
    """An upstream that compresses for whoever takes it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = b'{"answer": "plain"}'
            self.send_response(200)
            if "gzip" in self.headers.get("accept-encoding", ""):
                body = gzip.compress(body)
                self.send_header("content-encoding", "gzip")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_what_is_passed_through_can_be_read_and_goes_nowhere_without_a_model(folder: Path) -> None:
    body, off = {"model": "t", "messages": [user("x")]}, {"X-Letopis-Memory": "off"}
    with compressing() as upstream, memory_server(folder, model__base_url=upstream, model__name="t") as url:
        assert httpx2.post(f"{url}/v1/chat/completions", json=body, headers=off).json() == {"answer": "plain"}
    with memory_server(folder) as url:
        refused = httpx2.post(f"{url}/v1/chat/completions", json=body, headers=off)
    assert refused.status_code == 503
    assert "no model" in refused.json()["error"]["message"]


# --- keys and hosts -----------------------------------------------------------------------------


def test_a_damaged_file_of_keys_opens_nothing(folder: Path) -> None:
    own = Keys(open_workspace(folder), SystemClock(""))
    key, _ = own.add("x", "read")
    with memory_server(folder) as url:
        assert httpx2.get(f"{url}/api/facts").status_code == 401
        own.revoke(key.id)
        assert httpx2.get(f"{url}/api/facts").status_code == 401
        (folder / ".letopis" / "keys.jsonl").write_bytes(b"\0" * 200)
        assert httpx2.get(f"{url}/api/facts").status_code == 401
    with pytest.raises(InvalidInput):
        own.add(" ", "read")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no such names")
def test_an_odd_file_of_one_workspace_ends_the_server_of_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from letopis.server import mcp_server

    monkeypatch.setattr(mcp_server, "LOOK_EVERY", 0.05)
    keys = {}
    for name in ("a", "b"):
        init(tmp_path / name)
        keys[name] = Keys(open_workspace(tmp_path / name), SystemClock("")).add("x", "read")[1]
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accepted = {"Accept": "application/json, text/event-stream"}
    with memory_server(tmp_path, several=True) as url:
        for odd in (False, True):
            if odd:
                Path(os.fsdecode(os.fsencode(tmp_path / "a" / "memory") + b"/caf\xe9.md")).write_text("x")
                time.sleep(0.3)
            for key in keys.values():
                answer = httpx2.post(f"{url}/mcp", json=hello, headers={**accepted, "Authorization": f"Bearer {key}"})
                assert answer.status_code == 200


def test_the_first_lines_of_a_note_are_found_by_hosts(memory: Memory, folder: Path) -> None:
    (folder / "memory" / "2026-02-23.md").write_text("- Купили билеты в Самарканд.\n- Второй пункт.\n", "utf-8")
    found = toolbox.run(memory, "memory_search", {"query": "Самарканд"})
    assert "Самарканд" in found["hits"][0]["text"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["serve"], ["library", "--no-browser"]])
def test_the_server_stops_at_once_while_somebody_listens(folder: Path, command: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = subprocess.Popen(
        [sys.executable, "-m", "letopis", *command, "--workspace", str(folder), "--port", str(port)],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert started.stderr is not None
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 20
    while True:
        try:
            httpx2.get(f"{address}/health")
            break
        except httpx2.ConnectError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    with httpx2.Client() as client, client.stream("GET", f"{address}/api/events", timeout=30) as stream:
        assert stream.status_code == 200
        assert client.get(f"{address}/library", headers={"Accept": "text/html"}).status_code == 200
        start = time.monotonic()
        started.send_signal(signal.SIGTERM)
        for _ in stream.iter_bytes():
            pass
        started.wait(20)
    started.stderr.close()
    assert time.monotonic() - start < 10


# --- adapters -----------------------------------------------------------------------------------


def test_programs_use_the_client_in_all_its_ways(memory: Memory) -> None:
    with ScriptedServer(Calls((("weather", {}),)), "Тепло.", "В потоке.", otherwise='{"answer": 2}') as upstream:
        client = remembering(openai.OpenAI(base_url=upstream.url, api_key="x"), memory, key="bot")
        chat: list[Any] = [user("Погода?")]
        first = client.chat.completions.create(model="t", messages=chat).choices[0].message
        chat += [first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "20"}]
        second = client.with_options(timeout=9).chat.completions.create(model="t", messages=chat)
        chat += [second.choices[0].message, user("Ещё?")]
        with client.chat.completions.create(model="t", messages=iter(chat), stream=True) as stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
        assert text == "В потоке."

        class Answer(BaseModel):
            answer: int

        edited = [*chat[:-1], user("Ещё, но иначе?")]
        made = client.chat.completions.parse(model="t", messages=edited, response_format=Answer)
        assert made.choices[0].message.parsed.answer == 2
        with pytest.raises(InvalidInput, match="goes past the memory"):
            _ = client.chat.completions.with_raw_response
    transcript = memory.history(key="bot")[1]
    standing = [m.text for m in transcript.standing()]
    assert standing == ["Погода?", "", "20", "Тепло.", "Ещё, но иначе?", '{"answer": 2}']


def test_an_asynchronous_client_remembers_too(memory: Memory) -> None:
    import asyncio

    async def talk(url: str) -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="x") as bare:
            client = remembering(bare, memory, key="bot")
            await client.chat.completions.create(model="t", messages=[user("раз")])
            async with await client.chat.completions.create(model="t", messages=[user("два")], stream=True) as stream:
                async for _ in stream:
                    pass

    with ScriptedServer("Один.", "Два.") as upstream:
        asyncio.run(talk(upstream.url))
    assert [m.text for m in memory.history(key="bot")[1].messages] == ["раз", "Один.", "два", "Два."]


def test_a_store_of_many_items_finds_each(memory: Memory) -> None:
    store = MemoryStore(memory)
    for n in range(230):
        store.put(("many",), f"k{n}", {"text": f"яблоко номер {n}", "n": n, "meta": {"lang": "ru", "rank": [1, n]}})
    assert [item.key for item in store.search(("many",), query="яблоко", filter={"n": 229})] == ["k229"]
    assert len(store.search(("many",), query="яблоко", limit=300)) == 230
    assert len(store.search(("many",), filter={"meta": {"lang": "ru", "rank": (1, 7)}})) == 1
    store.put(("many", "k1"), "inner", {"x": 1})
    store.delete(("many",), "k1")
    store.delete(("many",), "no such")
    assert store.get(("many", "k1"), "inner") is not None
    for key in (".env", "..", "../../x"):
        store.put(("odd",), key, {"x": key})
        item = store.get(("odd",), key)
        assert item is not None
        assert item.value == {"x": key}


# --- branches, closed and deleted sessions ------------------------------------------------------


def test_an_answer_asked_anew_in_the_older_of_two_chats_is_its_own(proxy: Proxy) -> None:
    chats: list[Chat] = [[], []]
    for n in range(2):
        for name, chat in zip("ab", chats, strict=True):
            proxy.say(chat, f"{name}{n}", user="anna")
    again = proxy.ask(chats[0][:-1], user="anna").choices[0].message.content
    assert again == "Echo: a1"
    proxy.say(chats[0], "a2", user="anna")
    proxy.say(chats[1], "b2", user="anna")
    (messages,) = proxy.told().values()
    assert sorted(asked(messages)) == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert len(messages) == 12


def test_a_deleted_conversation_hinders_none_that_goes_on_from_it(proxy: Proxy) -> None:
    chat: Chat = []
    proxy.say(chat, "раз")
    memory = proxy.memory()
    first = memory.sessions()[0]
    memory.close(first.key)
    memory.drain()
    proxy.say(chat, "два")
    memory.store.delete_session(first.session_id)
    proxy.say(chat, "три")
    other: Chat = []
    proxy.say(other, "другое")
    proxy.say(other, "и ещё")
    told = [asked(messages) for messages in proxy.told().values()]
    assert ["другое", "и ещё"] in told
    assert sorted(text for texts in told for text in texts if text in ("два", "три")) == ["два", "три"]


def test_another_question_withdraws_no_fact(memory: Memory) -> None:
    with ScriptedServer(otherwise="Хорошо.") as upstream:
        client = remembering(openai.OpenAI(base_url=upstream.url, api_key="x"), memory, key="bot")

        def say(chat: list[Any], text: str) -> None:
            chat.append(user(text))
            chat.append(client.chat.completions.create(model="t", messages=chat).choices[0].message)

        one: list[Any] = []
        two: list[Any] = []
        say(one, "Привет, я про кухню")
        say(two, "Мой бюджет 500 евро")
        session = memory.sessions()[0].session_id
        source = next(m.n for m in memory.history(session_id=session)[1].messages if "бюджет" in m.text)
        fact = memory.store.facts
        from letopis.lifecycle.remember import keep

        keep(memory.store, "Бюджет 500 евро", session, source)
        say(one, "Кухня белая")
        say(two, "Что купить?")
        assert [f.text for f in fact.view().facts] == ["Бюджет 500 евро"]
        memory.close("bot")
        memory.drain()
        say(one, "Дальше")
        with pytest.raises(InvalidInput, match="goes past the memory"):
            _ = client.responses
    told = [m.text for m in memory.history(key="bot")[1].messages if m.role == "user"]
    assert told == ["Дальше"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no such names")
def test_a_name_that_is_no_text_stops_no_search(memory: Memory, folder: Path) -> None:
    memory.append("k", user("жираф в зоопарке"))
    odd = os.fsencode(folder / "memory") + b"/\xe7\xe0\xec\xe5\xf2\xea\xe0.md"
    Path(os.fsdecode(odd)).write_text("# жираф", "utf-8")
    assert memory.search("жираф").hits
    with memory_server(folder) as url:
        for page in ("/library/notes", "/library/search?q=жираф", "/library"):
            assert httpx2.get(url + page, headers={"Accept": "text/html"}).status_code == 200


def test_cookies_of_other_programs_shut_no_door(folder: Path) -> None:
    key = Keys(open_workspace(folder), SystemClock("")).add("x", "read")[1]
    with memory_server(folder) as url:
        cookie = httpx2.post(f"{url}/library/enter", json={"key": key}).headers["set-cookie"].partition(";")[0]
        for other in ('pref={"a":1}', "bad[name]=1", "x=a b"):
            sent = {"Cookie": f"{other}; {cookie}", "Accept": "text/html"}
            assert httpx2.get(f"{url}/library", headers=sent).status_code == 200
        assert httpx2.post(f"{url}/library/leave", headers={"Cookie": cookie}).status_code == 200
        assert httpx2.get(f"{url}/library", headers={"Cookie": cookie}).status_code == 303


def test_a_reading_error_that_passes_is_not_remembered(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from letopis.errors import Unreadable
    from letopis.store import files

    memory.remember("Чай без сахара")
    (memory.store.workspace.memory_file).touch()
    read = files.read

    def failing(path: Path) -> bytes | None:
        raise Unreadable(f"{path} cannot be read")

    monkeypatch.setattr(files, "read", failing)
    assert memory.store.facts.view().problem
    monkeypatch.setattr(files, "read", read)
    assert [fact.text for fact in memory.facts()] == ["Чай без сахара"]


ACTIONS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(["say", "say", "edit", "again"])), min_size=4, max_size=14
)


@settings(max_examples=25)
@given(ACTIONS)
def test_two_chats_of_one_user_stay_what_their_clients_see(
    folder_of: Callable[[], Path], actions: list[tuple[int, str]]
) -> None:
    def model(request: Request) -> str:
        newest = next(m["content"] for m in reversed(request.messages) if m["role"] == "user")
        return f"Ответ на {str(newest).partition(chr(10))[0]}"

    memory = opener(None)(folder_of())
    memory.models = Models(ScriptedModel(otherwise=model), None)
    conversations = Conversations(memory)
    chats: list[Chat] = [[user("a первый")], [user("b первый")]]

    def ask(chat: Chat) -> None:
        last = list(conversations.answer(Asked(tuple(chat), Outside(), key="anna")))[-1]
        assert isinstance(last, Done)
        assert last.text == f"Ответ на {chat[-1]['content']}"
        chat.append(assistant(last.text))

    for chat in chats:
        ask(chat)
    for n, (which, action) in enumerate(actions):
        chat = chats[which]
        if action == "say":
            chat.append(user(f"{'ab'[which]} {n}"))
        elif len(chat) < 3:
            continue
        else:
            del chat[-1 if action == "again" else -2 :]
            if action == "edit":
                chat.append(user(f"{'ab'[which]} {n} иначе"))
        ask(chat)
    standing = sorted(m.text for m in memory.history(key="proxy:anna")[1].standing() if not m.internal)
    assert standing == sorted(str(m["content"]) for chat in chats for m in chat)
