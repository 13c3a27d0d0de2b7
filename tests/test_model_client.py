"""The model over real HTTP on loopback: answers, faults, streams, structured output."""

import time
from collections.abc import Callable, Iterator

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis import errors
from letopis.errors import AnswerUnusable, KeyRefused, ModelError, RequestRefused, Unavailable
from letopis.lifecycle import summarise
from letopis.llm import Reply, Request, thinking
from letopis.llm.openai_client import TRANSLATIONS, OpenAIModel
from letopis.llm.scripted import ScriptedModel, calling
from letopis.llm.scripted_server import HTML, Calls, Fault, Script, ScriptedServer, Text
from letopis.llm.structured import ask
from letopis.model.proposals import Summary
from letopis.settings.tree import ModelSettings

pytestmark = pytest.mark.timeout(30)
ASKED = Request([{"role": "user", "content": "hi"}])
GOOD = {"title": "T", "summary": "S"}
FORM = summarise.FORM


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def model(server: ScriptedServer, **settings: object) -> OpenAIModel:
    made = ModelSettings(**{"name": "test", "base_url": server.url, "retries": 1, "timeout": 5.0, **settings})  # type: ignore[arg-type]
    return OpenAIModel(made, made.name)


def whole(server: ScriptedServer) -> Reply:
    return model(server).complete(ASKED)


def streamed(server: ScriptedServer) -> tuple[str, Reply | None]:
    text, reply = "", None
    for item in model(server).stream(ASKED):
        if isinstance(item, Reply):
            reply = item
        else:
            text += item
    return text, reply


def test_an_answer_comes_whole_and_streamed_with_its_usage(server: ScriptedServer) -> None:
    server.enqueue("Привет, мир!", "Привет, мир!")
    reply = whole(server)
    assert (reply.text, reply.finish, reply.prompt_tokens, reply.completion_tokens) == ("Привет, мир!", "stop", 10, 5)
    text, last = streamed(server)
    assert text == "Привет, мир!"
    assert last == reply
    assert server.requests[1]["stream"] is True
    assert server.requests[0]["max_tokens"] == 2048
    assert "temperature" not in server.requests[0]


def test_tool_calls_come_whole_and_streamed(server: ScriptedServer) -> None:
    server.enqueue(Calls((("f", {"a": 1}), ("g", "{}"))), Calls((("f", {"a": 1}), ("g", "{}"))))
    first, (_, second) = whole(server), streamed(server)
    assert second is not None
    for reply in (first, second):
        assert [(c.name, c.arguments) for c in reply.tool_calls] == [("f", '{"a": 1}'), ("g", "{}")]
        assert reply.finish == "tool_calls"


@pytest.mark.parametrize("call", [whole, streamed])
@pytest.mark.parametrize(
    ("fault", "kind", "advice"),
    [
        (Fault(status=401), KeyRefused, "model.api_key"),
        (Fault(status=403), KeyRefused, "may not use this model"),
        (Fault(status=404), RequestRefused, "model.base_url"),
        (Fault(status=400), RequestRefused, "check model.name"),
        (Fault(body=HTML, content_type="text/html"), AnswerUnusable, "test"),
        (Fault(body="[]"), AnswerUnusable, "test"),
        (Fault(body='{"choices": []}'), AnswerUnusable, "test"),
    ],
)
def test_each_fault_is_typed_and_says_what_to_do(
    server: ScriptedServer, call: Callable[[ScriptedServer], object], fault: Fault, kind: type[ModelError], advice: str
) -> None:
    server.enqueue(fault)
    with pytest.raises(kind, match=advice) as error:
        call(server)
    assert "'test'" in str(error.value)
    assert len(server.requests) == 1


def test_a_busy_or_failing_endpoint_is_asked_again_after_the_time_it_names(server: ScriptedServer) -> None:
    server.enqueue(Fault(status=429, retry_after=0.3), "At last.")
    start = time.monotonic()
    assert whole(server).text == "At last."
    assert time.monotonic() - start >= 0.3
    server.enqueue(Fault(status=500, retry_after=0.01), Fault(status=503, retry_after=0.01))
    with pytest.raises(Unavailable):
        whole(server)
    assert len(server.requests) == 4


def test_a_slow_endpoint_is_not_waited_for_for_ever(server: ScriptedServer) -> None:
    server.enqueue(Fault(delay=3.0))
    with pytest.raises(Unavailable, match=r"model\.timeout"):
        model(server, timeout=0.2, retries=0).complete(ASKED)


def test_nobody_there_is_said_so() -> None:
    settings = ModelSettings(name="x", base_url="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(Unavailable, match="cannot be reached"):
        OpenAIModel(settings, "x").complete(ASKED)


@pytest.mark.parametrize("after", [0, 2, 4])
def test_a_stream_that_is_cut_is_an_error_and_what_came_is_given(server: ScriptedServer, after: int) -> None:
    server.enqueue(Fault(cut_after=after, text="one two three four five"))
    pieces: list[str | Reply] = []
    with pytest.raises((AnswerUnusable, Unavailable)):
        pieces.extend(model(server).stream(ASKED))
    assert all(isinstance(piece, str) for piece in pieces)


def test_every_error_of_the_client_has_a_translation() -> None:
    kinds = [c for c in list(vars(openai).values()) if isinstance(c, type) and issubclass(c, openai.OpenAIError)]
    known = tuple(getattr(openai, name) for name, _, _ in TRANSLATIONS)
    assert all(issubclass(kind, known) for kind in kinds)
    ours = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)}
    assert {kind for _, kind, _ in TRANSLATIONS} <= ours


# --- thinking ---------------------------------------------------------------------------------

THOUGHTS = [
    ("<think>secret plan</think>Answer", "Answer"),
    ("<think>secret plan</think>\n\nAnswer", "Answer"),
    ("<think>secret plan", ""),
    ("<THINKING>x</THINKING>\nA", "A"),
    ("Answer\n<think>again</think>\nmore", "Answer\nmore"),
    ("plain < text > here", "plain < text > here"),
    ("use the `<think>` tag", "use the `<think>` tag"),
    ("<thinker>is a word</thinker>", "<thinker>is a word</thinker>"),
]


@pytest.mark.parametrize(("text", "visible"), THOUGHTS)
def test_thoughts_are_taken_out_whole_and_streamed(text: str, visible: str) -> None:
    assert thinking.stripped(text) == visible
    for size in (1, 2, 3, 7, 100):
        held = thinking.Filter()
        shown = "".join(held.feed(text[at : at + size]) for at in range(0, len(text), size)) + held.rest()
        assert shown.strip() == visible, size


def test_a_closing_tag_whose_opening_was_swallowed_counts() -> None:
    assert thinking.stripped("secret plan</think>\nAnswer") == "Answer"


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "\n", "<", "thi", "nk>"]), max_size=12))
def test_a_streamed_thought_never_shows_more_than_the_text(parts: list[str]) -> None:
    held = thinking.Filter()
    shown = "".join(held.feed(part) for part in parts) + held.rest()
    assert len(shown) <= len("".join(parts))


# --- structured answers -----------------------------------------------------------------------


def structured(server: ScriptedServer, *script: Script) -> Summary:
    server.enqueue(*script)
    answer = ask(model(server), ASKED.messages, FORM, lambda payload: [], lambda reply: None)
    return answer.payload


def test_the_tool_is_forced(server: ScriptedServer) -> None:
    assert structured(server, Calls((("save_summary", GOOD),))).title == "T"
    assert server.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "save_summary"}}


def test_a_server_that_refuses_to_be_forced_is_asked_by_schema_then_plainly_and_it_is_remembered(
    server: ScriptedServer,
) -> None:
    refusing = model(server)
    server.enqueue(Fault(status=400), Fault(status=400), 'Here: {"title": "T", "summary": "S"} Bye.')
    ask(refusing, ASKED.messages, FORM, lambda payload: [], lambda reply: None)
    assert "tool_choice" in server.requests[0]
    assert server.requests[1]["response_format"]["type"] == "json_schema"
    assert "response_format" not in server.requests[2]
    server.enqueue('{"title": "T", "summary": "S"}')
    ask(refusing, ASKED.messages, FORM, lambda payload: [], lambda reply: None)
    assert len(server.requests) == 4


@pytest.mark.parametrize("arguments", [GOOD, '{"title": "T", "summary": "S"}', [GOOD]])
def test_arguments_are_understood_as_object_text_and_one_element_list(arguments: object) -> None:
    scripted = ScriptedModel(calling("save_summary", arguments))
    assert ask(scripted, ASKED.messages, FORM, lambda p: [], lambda r: None).payload.summary == "S"


@pytest.mark.parametrize(
    "bad",
    [
        "prose",
        "",
        calling("save_summary", "{"),
        calling("save_summary", "[]"),
        calling("save_summary", ["x", "y"]),
        calling("save_summary", "5"),
        calling("save_summary", "null"),
        calling("save_summary", {"title": None, "summary": {}}),
        calling("save_summary", '{"title": "T", "summary": "' + "x" * 300_000 + '"}'),
        Reply("", calling("save_summary", GOOD).tool_calls, "length"),
        Reply("", calling("save_summary", GOOD).tool_calls, "content_filter"),
        Reply('{"title": "T", "summary": "S"}', (), "length"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_repaired_once_or_refused(bad: str | Reply) -> None:
    repaired = ScriptedModel(bad, calling("save_summary", GOOD))
    assert ask(repaired, ASKED.messages, FORM, lambda p: [], lambda r: None).payload.title == "T"
    assert "cannot be used" in str(repaired.requests[1].messages[-1])
    with pytest.raises(AnswerUnusable, match="two tries"):
        ask(ScriptedModel(otherwise=bad), ASKED.messages, FORM, lambda p: [], lambda r: None)


def test_an_unfinished_answer_over_http_is_refused(server: ScriptedServer) -> None:
    with pytest.raises(AnswerUnusable, match="not finished"):
        structured(server, *[Text('{"title": "T", "summary": "User prefers"}', finish="length")] * 2)
