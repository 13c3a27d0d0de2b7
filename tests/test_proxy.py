"""The OpenAI-compatible proxy with the real client over real sockets; the upstream is scripted."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.llm.scripted_server import Calls, Fault, ScriptedServer
from letopis.memory import Memory
from letopis.model import resent
from letopis.model.resent import Seen
from tests.conftest import assistant, user
from tests.serving import memory_server, opener

pytestmark = [pytest.mark.timeout(60)]
Chat = list[dict[str, Any]]


class Proxy:
    """A server with its upstream and a client."""

    def __init__(self, folder: Path, upstream: ScriptedServer, url: str) -> None:
        self.folder, self.upstream, self.url = folder, upstream, url
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-any", max_retries=0)

    def ask(self, messages: Chat, **more: Any) -> Any:
        return self.client.chat.completions.create(model="letopis", messages=messages, **more)  # type: ignore[arg-type]

    def say(self, chat: Chat, text: str, **more: Any) -> str:
        """Say something in a chat that is resent whole each time, as clients do."""
        chat.append(user(text))
        answer = self.ask(chat, **more).choices[0].message.content
        chat.append(assistant(answer))
        return str(answer)

    def memory(self) -> Memory:
        return opener(None)(self.folder)

    def told(self) -> dict[str, list[tuple[str, str]]]:
        """What stands in each session, by key, without what was edited away."""
        memory = self.memory()
        found: dict[str, list[tuple[str, str]]] = {}
        for line in sorted(memory.sessions(), key=lambda one: one.created_at):
            transcript = memory.history(session_id=line.session_id)[1]
            found.setdefault(line.key, []).extend((m.role, m.text) for m in transcript.standing() if not m.internal)
        return found


@pytest.fixture
def proxy(folder: Path) -> Iterator[Proxy]:
    with ScriptedServer(otherwise=echo) as upstream, memory_server(folder, upstream) as url:
        yield Proxy(folder, upstream, url)


def echo(body: Mapping[str, Any]) -> str:
    newest = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
    return f"Echo: {str(newest).partition(chr(10))[0]}"


# --- what is stored -----------------------------------------------------------------------------


def test_a_history_that_is_resent_is_stored_once(proxy: Proxy) -> None:
    chat: Chat = [{"role": "system", "content": "You are a pirate."}]
    for n in range(4):
        assert proxy.say(chat, f"слово {n}") == f"Echo: слово {n}"
    (messages,) = proxy.told().values()
    assert messages == [(m["role"], m["content"]) for m in chat[1:]]
    system = str(proxy.upstream.requests[-1]["messages"][0]["content"])
    assert system.startswith("You are a pirate.")
    assert "long-term memory" in system
    assert [m["content"] for m in proxy.upstream.requests[-1]["messages"][1:]] == [m["content"] for m in chat[1:-1]]


def test_two_chats_with_the_same_greeting_never_merge(proxy: Proxy) -> None:
    left: Chat = []
    right: Chat = []
    for n, chat in enumerate((left, right)):
        proxy.say(chat, "Привет")
        proxy.say(chat, f"дальше {n}")
    told = proxy.told()
    assert len(told) == 2
    assert sorted(texts[2][1] for texts in told.values()) == ["дальше 0", "дальше 1"]


def test_an_edited_and_a_regenerated_turn_is_marked_and_not_doubled(proxy: Proxy) -> None:
    chat: Chat = []
    for text in ("раз", "два", "три"):
        proxy.say(chat, text)
    proxy.ask(chat[:-1])  # the last answer once more
    edited = [*chat[:2], user("два иначе")]
    proxy.ask(edited)
    (messages,) = proxy.told().values()
    assert messages == [
        ("user", "раз"), ("assistant", "Echo: раз"), ("user", "два иначе"), ("assistant", "Echo: два иначе"),
    ]  # fmt: skip
    memory = proxy.memory()
    transcript = memory.history(session_id=memory.sessions()[0].session_id)[1]
    every = [m.text for m in transcript.messages]
    assert every.count("три") == 1
    assert every.count("Echo: три") == 2
    assert transcript.superseded
    assert "три" not in json.dumps(proxy.upstream.requests[-1], ensure_ascii=False)


def test_a_conversation_is_named_by_header_user_or_metadata(proxy: Proxy) -> None:
    proxy.ask([user("раз")], extra_headers={"X-Letopis-Session": "a"})
    proxy.ask([user("два")], extra_headers={"X-Letopis-Session": "b"})
    proxy.ask([user("раз"), assistant("Echo: раз"), user("ещё")], extra_headers={"X-Letopis-Session": "a"})
    proxy.ask([user("три")], user="c")
    proxy.ask([user("четыре")], metadata={"session": "d"})
    told = proxy.told()
    assert sorted(told) == ["proxy:a", "proxy:b", "proxy:c", "proxy:d"]
    assert [text for _, text in told["proxy:a"]] == ["раз", "Echo: раз", "ещё", "Echo: ещё"]


def test_a_retry_answers_the_same_turn_and_stores_nothing_again(proxy: Proxy) -> None:
    proxy.upstream.enqueue(Fault(status=500))
    body = [user("Привет")]
    with pytest.raises(openai.InternalServerError):
        proxy.ask(body, extra_headers={"Idempotency-Key": "k1"})
    assert proxy.ask(body, extra_headers={"Idempotency-Key": "k1"}, timeout=20).choices[0].message.content
    proxy.upstream.enqueue(Fault(status=500))
    with pytest.raises(openai.InternalServerError):
        proxy.ask([user("Вторая")])
    again = proxy.ask([user("Вторая")], extra_headers={"X-Stainless-Retry-Count": "1"})
    assert again.choices[0].message.content == "Echo: Вторая"
    answered = len(proxy.upstream.requests)
    same = proxy.ask([user("Вторая")], extra_headers={"X-Stainless-Retry-Count": "2"})
    assert same.choices[0].message.content == "Echo: Вторая"
    assert len(proxy.upstream.requests) == answered
    told = sorted(proxy.told().values())
    assert [[text for role, text in texts if role == "user"] for texts in told] == [["Вторая"], ["Привет"]]


def test_new_closes_and_a_closed_history_is_not_stored_again(proxy: Proxy) -> None:
    chat: Chat = []
    proxy.say(chat, "раз")
    proxy.say(chat, "два")
    closed = proxy.ask([*chat, user("/new")])
    assert "new conversation" in closed.choices[0].message.content
    proxy.say(chat, "три")
    proxy.say(chat, "четыре")
    texts = [text for texts in proxy.told().values() for _, text in texts]
    assert texts.count("раз") == texts.count("два") == texts.count("три") == texts.count("четыре") == 1
    assert len(proxy.memory().sessions()) == 2
    assert "раз" in str(proxy.upstream.requests[-2]["messages"][0]["content"])


def test_after_a_restart_the_history_is_known(folder: Path) -> None:
    chat: Chat = []
    with ScriptedServer(otherwise=echo) as upstream:
        for text in ("раз", "два"):
            with memory_server(folder, upstream) as url:
                Proxy(folder, upstream, url).say(chat, text)
        told = Proxy(folder, upstream, "").told()
    assert [[text for _, text in texts] for texts in told.values()] == [["раз", "Echo: раз", "два", "Echo: два"]]


# --- tools, streams, errors ---------------------------------------------------------------------

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def test_tools_of_the_client_and_of_the_memory_in_one_turn(proxy: Proxy) -> None:
    proxy.upstream.enqueue(
        Calls((("memory_search", {"query": "чай"}),), text="Сейчас посмотрю. "),
        Calls((("session_list", {}), ("weather", {"city": "Томск"}))),
        "В Томске тепло.",
    )
    chat: Chat = [user("Какая погода?")]
    first = proxy.ask(chat, tools=[WEATHER], temperature=0.3, seed=7).choices[0]
    assert first.finish_reason == "tool_calls"
    assert [call.function.name for call in first.message.tool_calls] == ["weather"]
    sent = proxy.upstream.requests[0]
    assert (sent["temperature"], sent["seed"]) == (0.3, 7)
    assert sent["tools"][0] == WEATHER
    assert "memory_search" in [tool["function"]["name"] for tool in sent["tools"]]
    call = first.message.tool_calls[0]
    chat.append(first.message.model_dump(exclude_none=True))
    chat.append({"role": "tool", "tool_call_id": call.id, "content": "+20"})
    last = proxy.ask(chat, tools=[WEATHER]).choices[0]
    assert last.message.content == "В Томске тепло."
    roles = [m["role"] for m in proxy.upstream.requests[-1]["messages"]]
    assert roles[1:] == ["user", "assistant", "tool", "assistant", "tool", "tool"]
    chat.append(assistant("В Томске тепло."))
    proxy.say(chat, "Спасибо")
    (messages,) = proxy.told().values()
    assert [text for role, text in messages if role == "user"] == ["Какая погода?", "Спасибо"]


def test_the_marker_never_leaks_in_a_stream(proxy: Proxy) -> None:
    chat: Chat = []
    proxy.say(chat, "Цена дуба 45 000")
    proxy.upstream.enqueue("Секунду.\nSEARCH_HISTORY: цена дуба\n", "Дуб стоит 45 000.")
    chat.append(user("Сколько стоит дуб?"))
    pieces = [c.choices[0].delta.content or "" for c in proxy.ask(chat, stream=True) if c.choices]
    assert not any("SEARCH" in piece or "HISTORY" in piece for piece in pieces)
    assert "".join(pieces).endswith("Дуб стоит 45 000.")
    assert "45 000" in json.dumps(proxy.upstream.requests[-1]["messages"][-1], ensure_ascii=False)


def test_usage_is_reported_over_all_passes(proxy: Proxy) -> None:
    proxy.upstream.enqueue(Calls((("session_list", {}),)), "Готово.")
    *_, last = proxy.ask([user("Список")], stream=True, stream_options={"include_usage": True})
    assert (last.usage.prompt_tokens, last.usage.completion_tokens) == (20, 10)


@pytest.mark.parametrize("stream", [False, True])
def test_errors_of_the_upstream_come_back_and_the_message_is_kept(proxy: Proxy, stream: bool) -> None:
    proxy.upstream.enqueue(Fault(status=422, body='{"error": {"message": "no such thing", "code": "bad"}}'))
    with pytest.raises(openai.UnprocessableEntityError) as error:
        for _ in proxy.ask([user("важное")], stream=stream):
            pass
    assert error.value.code == "bad"
    assert [[text for _, text in texts] for texts in proxy.told().values()] == [["важное"]]


def test_a_stream_that_the_client_cuts_is_kept_as_far_as_it_came(proxy: Proxy) -> None:
    proxy.upstream.enqueue(lambda body: "слово " * 4_000)
    chat: Chat = [user("Рассказывай")]
    stream = proxy.ask(chat, stream=True)
    got = ""
    for chunk in stream:
        got += chunk.choices[0].delta.content or ""
        if len(got) > 60:
            break
    stream.close()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        (messages,) = proxy.told().values()
        if len(messages) == 2:
            break
        time.sleep(0.05)
    assert messages[1][1].startswith(got.strip()[:40])
    proxy.say([*chat, assistant(got)], "дальше")
    (messages,) = proxy.told().values()
    assert [role for role, _ in messages] == ["user", "assistant", "user", "assistant"]


def test_without_memory_it_is_a_plain_way_through(proxy: Proxy) -> None:
    off = {"X-Letopis-Memory": "off"}
    assert proxy.ask([user("Привет")], extra_headers=off).choices[0].message.content == "Echo: Привет"
    assert "".join(
        c.choices[0].delta.content or "" for c in proxy.ask([user("Да")], extra_headers=off, stream=True) if c.choices
    ) == "Echo: Да"  # fmt: skip
    assert proxy.told() == {}
    proxy.upstream.enqueue(Fault(status=429))
    with pytest.raises(openai.RateLimitError):
        proxy.ask([user("Ещё")], extra_headers=off)


def test_structured_output_and_models_go_through(proxy: Proxy) -> None:
    proxy.upstream.enqueue('{"city": "Томск"}')
    form = {"type": "json_schema", "json_schema": {"name": "c", "schema": {"type": "object"}}}
    answer = proxy.ask([user("Город?")], response_format=form)
    assert json.loads(answer.choices[0].message.content) == {"city": "Томск"}
    assert proxy.upstream.requests[-1]["response_format"] == form
    assert [m.id for m in proxy.client.models.list()] == ["letopis", "t"]
    proxy.client.chat.completions.create(model="other", messages=[user("x")])  # type: ignore[list-item]
    assert proxy.upstream.requests[-1]["model"] == "other"


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"{}", b'{"messages": []}', b'{"messages": [1]}', b'{"messages": [{"role": "user"}], "n": 2}',
        b'{"messages": [{"role": "assistant", "content": "x"}]}', b'{"messages": [{"role": "pirate", "content": "x"}]}',
        b'{"messages": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b'{"messages": [{"role": "user", "content": "x"}], "tools": 7}',
    ],
)  # fmt: skip
def test_a_wrong_request_gets_an_error_of_the_protocol(proxy: Proxy, body: bytes) -> None:
    answer = httpx2.post(f"{proxy.url}/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert proxy.told() == {}


@pytest.mark.slow
def test_fifty_streams_at_once_on_ten_sessions(proxy: Proxy) -> None:
    def talk(number: int) -> None:
        key = f"s{number % 10}"
        stream = proxy.ask([user(f"вопрос {number}")], stream=True, extra_headers={"X-Letopis-Session": key})
        assert "".join(c.choices[0].delta.content or "" for c in stream if c.choices) == f"Echo: вопрос {number}"

    # each stream is a chat of its own to its client: it sends only its question, so what stood before is superseded
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(talk, range(50)))
    memory = proxy.memory()
    asked = []
    for line in memory.sessions():
        transcript = memory.history(session_id=line.session_id)[1]
        texts = [m.text for m in transcript.messages]
        assert [m.n for m in transcript.messages] == list(range(1, len(texts) + 1))
        for question, answer in zip(texts[::2], texts[1::2], strict=True):
            assert answer == f"Echo: {question}"
        asked += texts[::2]
    assert sorted(asked) == sorted(f"вопрос {n}" for n in range(50))


@pytest.mark.slow
def test_a_graceful_stop_lets_replies_end(folder: Path) -> None:
    with ScriptedServer(otherwise=Fault(delay=1.0, text="готово")) as upstream:
        with memory_server(folder, upstream) as url:
            proxy = Proxy(folder, upstream, url)
            answers: list[str] = []
            thread = threading.Thread(target=lambda: answers.append(proxy.say([], "жду")))
            thread.start()
            while not upstream.requests:
                time.sleep(0.01)
        thread.join(10)
        assert answers == ["готово"]
        assert [text for _, text in next(iter(proxy.told().values()))] == ["жду", "готово"]


# --- comparing ----------------------------------------------------------------------------------

SEEN = st.builds(Seen, st.just(0), st.sampled_from(["user", "assistant"]), st.sampled_from(["a", "b", "c"]))


@given(st.lists(SEEN, max_size=8), st.lists(SEEN, max_size=8))
def test_what_is_common_is_a_common_beginning(left: list[Seen], right: list[Seen]) -> None:
    count = resent.common(left, right)
    assert left[:count] == right[:count]
    assert count in (len(left), len(right)) or left[count] != right[count]
    shared = len(set(resent.marks(left)) & set(resent.marks(right)))
    assert shared == sum(one.role == "assistant" for one in left[:count])


def test_a_client_that_sends_only_what_is_new_hides_nothing(proxy: Proxy) -> None:
    named = {"X-Letopis-Session": "a"}
    for text in ("раз", "два", "раз", "три"):
        proxy.ask([user(text)], extra_headers=named)
    windowed = [assistant("Echo: раз"), user("три"), assistant("Echo: три"), user("четыре")]
    proxy.ask(windowed, extra_headers=named)
    (messages,) = proxy.told().values()
    assert [text for role, text in messages if role == "user"] == ["раз", "два", "раз", "три", "четыре"]
    assert len(messages) == 10


@given(st.lists(SEEN, min_size=1, max_size=8), st.integers(0, 7))
def test_the_end_of_a_history_is_found_where_it_stands(known: list[Seen], start: int) -> None:
    sent = [*known[start % len(known) :], Seen(0, "user", "new")]
    if any(one.role == "assistant" for one in sent):
        found = resent.aligned(known, sent)
        assert found.start == len(sent) - 1
        assert known[found.last + 1 - found.start : found.last + 1] == sent[:-1]
