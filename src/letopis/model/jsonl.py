"""One JSON object a line, and nothing that a damaged line could break.

Knows bytes and JSON; knows nothing of what the objects mean.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from letopis.errors import InvalidInput

_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ESCAPED = json.JSONEncoder(ensure_ascii=True, allow_nan=False)
_DECODER = json.JSONDecoder()


def _quick(encoder: json.JSONEncoder) -> Callable[[Any], str]:
    """The encoder's own C function, made once: `encode` makes it anew for every line."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    text: Any = getattr(json.encoder, "encode_basestring")  # noqa: B009 (typeshed does not know it)
    markers: dict[int, Any] = {}
    chunks = make(markers, encoder.default, text, None, ": ", ", ", False, False, False)

    def encode(value: Any) -> str:
        try:
            return "".join(chunks(value, 0))
        finally:
            markers.clear()

    return encode


_plain = _quick(_PLAIN)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a JSON object. `number` counts from 1."""

    number: int
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class GoodLine:
    """A line's object. `number` counts from 1."""

    number: int
    record: dict[str, Any]


def encode(record: Mapping[str, Any]) -> bytes:
    """The record as one line with its newline.

    Lone surrogates cannot be UTF-8, so a record that holds one is written with escapes,
    which read back as the same text. Raises InvalidInput for what JSON cannot hold.
    """
    try:
        try:
            return _plain(record).encode() + b"\n"
        except UnicodeEncodeError:
            return _ESCAPED.encode(record).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the record cannot be written as JSON: {error}") from None


def lines(data: bytes, first_number: int = 1) -> Iterator[GoodLine | BadLine]:
    """Every non-empty line of `data`; several objects glued on one line count as several."""
    for offset, raw in enumerate(data.split(b"\n")):
        if raw.strip():
            yield from _line(first_number + offset, raw)


def _line(number: int, raw: bytes) -> Iterator[GoodLine | BadLine]:
    try:
        text = raw.decode().strip()
    except UnicodeDecodeError as error:
        yield BadLine(number, f"not UTF-8 at byte {error.start}", raw)
        return
    at = 0
    found: list[GoodLine] = []
    try:
        while at < len(text):
            value, end = _DECODER.raw_decode(text, at)
            if not isinstance(value, dict):
                yield from found
                yield BadLine(number, "not a JSON object", raw)
                return
            found.append(GoodLine(number, value))
            at = end
            while at < len(text) and text[at].isspace():
                at += 1
    except (ValueError, RecursionError):
        yield from found
        yield BadLine(number, "not complete JSON", raw)
        return
    yield from found
