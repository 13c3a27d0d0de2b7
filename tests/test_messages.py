"""Messages: what was received comes back; what is sent is what a provider accepts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import InvalidInput
from letopis.model import messages, turns
from letopis.model.messages import Message, from_stored, to_stored
from tests.test_jsonl import records


def stored(n: int, **wire: object) -> Message:
    message = from_stored(to_stored(wire, n, "2026-03-01T10:00:00.000+03:00"))
    assert message is not None
    return message


@given(records, st.sampled_from(messages.ROLES))
def test_any_message_comes_back_as_it_was_received(fields: dict[str, object], role: str) -> None:
    wire = {**fields, "role": role}
    message = from_stored(to_stored(wire, 7, "2026-03-01T10:00:00+03:00"))
    assert message is not None
    assert message.n == 7
    assert message.wire == wire


def test_fields_of_ours_that_arrive_move_under_received() -> None:
    record = to_stored({"role": "user", "content": "x", "n": "mine", "_type": "state", "timestamp": 5}, 1, "t")
    assert record["n"] == 1
    assert record["timestamp"] == "t"
    assert record["received"] == {"_type": "state", "n": "mine", "timestamp": 5}
    assert "_type" not in record


@pytest.mark.parametrize("wire", [None, [], "x", {}, {"role": "robot"}, {"role": 5}, {"role": "user", 5: 1}])
def test_what_is_no_message_is_refused(wire: object) -> None:
    with pytest.raises(InvalidInput):
        messages.check(wire)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        (5, ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "inner"}]}], "inner"),
        (["a", "b"], "a\nb"),
    ],
)
def test_one_extractor_reads_the_text_of_any_content(content: object, text: str) -> None:
    assert messages.text_of(content) == text


def call(id_: object = "c1", name: object = "f", arguments: object = "{}") -> dict[str, object]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_call_without_its_result_and_a_result_without_its_call_are_left_out() -> None:
    shaped = turns.for_provider(
        [
            stored(1, role="user", content="q"),
            stored(2, role="assistant", content=None, tool_calls=[call("a"), call("b")]),
            stored(3, role="tool", tool_call_id="a", content="A"),
            stored(4, role="tool", tool_call_id="zzz", content="orphan"),
            stored(5, role="user", content="q2"),
            stored(6, role="tool", tool_call_id="b", content="late"),
        ]
    )
    assert [m["role"] for m in shaped] == ["user", "assistant", "tool", "user"]
    assert [c["id"] for c in shaped[1]["tool_calls"]] == ["a"]
    assert shaped[-1]["content"] == "q2"


@pytest.mark.parametrize(
    "wire",
    [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [call(id_=None)]},
        {"role": "assistant", "content": None, "tool_calls": "x"},
        {"role": "tool", "content": "x"},
        {"role": "function", "name": "f", "content": "x"},
    ],
)
def test_what_a_provider_would_refuse_is_not_sent(wire: dict[str, object]) -> None:
    assert turns.for_provider([stored(1, **wire)]) == []


@given(st.lists(records, max_size=8), st.data())
def test_whatever_is_stored_the_shaped_messages_are_valid(fields: list[dict[str, object]], data: st.DataObject) -> None:
    every = [stored(n, **{**f, "role": data.draw(st.sampled_from(messages.ROLES))}) for n, f in enumerate(fields, 1)]
    open_calls: set[str] = set()
    for message in turns.for_provider(every):
        assert isinstance(message["content"], str | list)
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
        else:
            open_calls = {c["id"] for c in message.get("tool_calls", [])}


def test_a_turn_is_a_user_message_and_all_that_answers_it() -> None:
    every = [stored(n, role=r, content="x") for n, r in enumerate(["system", "user", "assistant", "user"], 1)]
    assert [[m.n for m in turn] for turn in turns.split(every)] == [[1], [2, 3], [4]]


def test_service_messages_are_dropped_before_the_last_ones_are_chosen() -> None:
    every = [stored(n, role="user", content=str(n), service=n % 2 == 0) for n in range(1, 11)]
    assert [m.n for m in turns.last_spoken(every, 3)] == [5, 7, 9]
