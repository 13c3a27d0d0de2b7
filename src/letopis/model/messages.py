"""One message of a conversation, in OpenAI chat form, and the three shapes it takes.

As it was received (`wire`), as it stands in a transcript (`stored`), and as a provider will
accept it (`for_model`). What was received is kept whole: fields of ours that arrive in a
message move under `received` and come back from there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from letopis.errors import InvalidInput

_SEARCHED_ROLES = ("user", "assistant", "tool")
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
DEEPEST = 100
_OURS = ("_type", "n", "timestamp", "received")
_OURS_SET = frozenset(_OURS)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a transcript. `stored` is its line; `n` counts from 1 in its session."""

    n: int
    timestamp: str
    role: str
    stored: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What a person would read of it."""
        return text_of(self.stored.get("content"))

    @property
    def internal(self) -> bool:
        """A first pass or a look-up: stored, never summarised, consolidated or searched."""
        return self.stored.get("internal") is True

    @property
    def service(self) -> bool:
        """Opens a session on the system's behalf."""
        return self.stored.get("service") is True

    @property
    def spoken(self) -> bool:
        """Said by a person or the assistant, so it may be summarised, quoted and cited."""
        return self.role in ("user", "assistant") and not self.internal and not self.service

    @property
    def searched(self) -> bool:
        """Whether its words and data may be found: what was said, and what a tool answered."""
        return self.role in _SEARCHED_ROLES and not self.internal and not self.service

    @property
    def wire(self) -> dict[str, Any]:
        """The message exactly as it was received."""
        received = self.stored.get("received")
        out = {k: v for k, v in self.stored.items() if k not in _OURS}
        return {**out, **received} if isinstance(received, Mapping) else out


def check(wire: object) -> Mapping[str, Any]:
    """The message, if it is one. Raises InvalidInput."""
    if type(wire) is not dict and not isinstance(wire, Mapping):
        raise InvalidInput(f"a message must be an object with a role, not {type(wire).__name__}")
    role = wire.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidInput(f"a message's role must be one of {', '.join(ROLES)}; got {role!r}")
    if set(map(type, wire)) != {str}:
        raise InvalidInput("the names of a message's fields must be texts")
    for value in wire.values():
        if type(value) is list or type(value) is dict:
            check_depth(wire, "a message")
            break
    return wire


def check_depth(value: Mapping[str, Any], what: str) -> None:
    """Raises InvalidInput where lists and objects lie too deep inside each other to be read back safely."""
    level = [v for v in value.values() if isinstance(v, list | dict)]
    for _ in range(DEEPEST):
        if not level:
            return
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [v for values in inner for v in values if isinstance(v, list | dict)]
    raise InvalidInput(f"{what} may nest lists and objects at most {DEEPEST} deep")


def to_stored(wire: Mapping[str, Any], n: int, timestamp: str) -> dict[str, Any]:
    """The line of a message: what was received, with `n` and `timestamp`."""
    if _OURS_SET.isdisjoint(wire):
        return {**wire, "n": n, "timestamp": timestamp}
    taken = {name: wire[name] for name in _OURS if name in wire}
    stored = {k: v for k, v in wire.items() if k not in _OURS}
    return {**stored, "received": taken, "n": n, "timestamp": timestamp}


def from_stored(record: Mapping[str, Any]) -> Message | None:
    """The message on a line, or None where the line is not one."""
    n, role, timestamp = record.get("n"), record.get("role"), record.get("timestamp")
    if not isinstance(n, int) or isinstance(n, bool) or n < 1 or not isinstance(role, str):
        return None
    return Message(n, timestamp if isinstance(timestamp, str) else "", role, record)


def text_of(content: object, depth: int = 0) -> str:
    """The text of any content: a string, parts, nested tool results, or nothing."""
    if isinstance(content, str):
        return content
    if depth > DEEPEST:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part, depth + 1) for part in content)))
    if isinstance(content, Mapping):
        for name in ("text", "content", "refusal"):
            inner = text_of(content.get(name), depth + 1)
            if inner:
                return inner
    return ""


_FOR_MODEL = ("role", "content", "name", "tool_calls", "tool_call_id")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def for_model(message: Message) -> dict[str, Any] | None:
    """The message as a provider accepts it, or None where it would be refused.

    Fields a provider does not know are left out; null and empty contents are mended.
    """
    out = _known_fields(message)
    if message.role == "assistant":
        calls = valid_calls(message)
        out.pop("tool_calls", None)
        if calls:
            out["tool_calls"] = calls
        if not out.get("content") and not calls:
            return None
    elif message.role not in ("system", "developer", "user", "tool"):
        return None
    elif message.role == "tool" and not isinstance(out.get("tool_call_id"), str):
        return None
    content = out.get("content")
    out["content"] = content if isinstance(content, str | list) and content else text_of(content)
    return out


def _known_fields(message: Message) -> dict[str, Any]:
    out = {k: message.stored[k] for k in _FOR_MODEL if message.stored.get(k) is not None}
    if not isinstance(out.get("name"), str) or not _NAME.fullmatch(out["name"]):
        out.pop("name", None)
    if "content" not in out and isinstance(message.stored.get("refusal"), str):
        out["content"] = message.stored["refusal"]
    return out


def valid_calls(message: Message) -> list[dict[str, Any]]:
    """The tool calls of an assistant message that carry an id and a function name."""
    calls = message.stored.get("tool_calls")
    out = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(call.get("id"), str):
            continue
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name:
            text = arguments if isinstance(arguments, str) else "{}"
            kind = {"type": "function", "function": {"name": name, "arguments": text}}
            out.append({"id": call["id"], **kind})
    return out
