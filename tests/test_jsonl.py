"""Lines of JSON: any object survives, any damage is counted and nothing else is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import InvalidInput
from letopis.model import jsonl

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(st.text(), json_values, max_size=6)


@given(st.lists(records, max_size=5))
def test_records_read_back_as_they_were_written(items: list[dict[str, object]]) -> None:
    data = b"".join(jsonl.encode(item) for item in items)
    assert data.count(b"\n") == len(items)
    assert [line.record for line in jsonl.lines(data) if isinstance(line, jsonl.GoodLine)] == items


@given(records, records, st.binary(max_size=40).filter(lambda b: b"\n" not in b))
def test_garbage_between_two_lines_takes_neither_with_it(
    first: dict[str, object], second: dict[str, object], garbage: bytes
) -> None:
    data = jsonl.encode(first) + garbage + b"\n" + jsonl.encode(second)
    good = [line.record for line in jsonl.lines(data) if isinstance(line, jsonl.GoodLine)]
    assert good[0] == first
    assert good[-1] == second


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": 1', "not complete JSON"),
        (b'{"t":"\xd0', "not UTF-8"),
        (b"\0\0\0\0", "not complete JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"[" * 100_000, "not complete JSON"),
    ],
)
def test_a_damaged_line_is_named(data: bytes, reason: str) -> None:
    (line,) = jsonl.lines(data)
    assert isinstance(line, jsonl.BadLine)
    assert line.reason.startswith(reason)


def test_two_objects_glued_on_one_line_are_both_read() -> None:
    assert [line.record for line in jsonl.lines(b'{"a":1}{"b":2}\n') if isinstance(line, jsonl.GoodLine)] == [
        {"a": 1},
        {"b": 2},
    ]


def test_a_line_separator_inside_text_does_not_split_the_line() -> None:
    assert jsonl.encode({"t": "a\u2028b\u0085c"}).count(b"\n") == 1


@pytest.mark.parametrize(
    "value", [float("nan"), object(), {1: {2: object()}}, 10**5000], ids=["nan", "object", "inner", "huge"]
)
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        jsonl.encode({"value": value})


def test_a_cycle_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    with pytest.raises(InvalidInput):
        jsonl.encode(loop)
