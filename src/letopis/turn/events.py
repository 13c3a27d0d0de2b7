"""What happens during a turn, as its caller sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from letopis.errors import LetopisError
from letopis.llm import ToolCall


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model calls a tool."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ToolDone:
    """A tool has answered."""

    name: str
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is whole and stored as message `session_id#n`."""

    text: str
    session_id: str
    n: int
    usage: tuple[int, int] = (0, 0)
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Handed:
    """The model calls tools that are the caller's own; the turn goes on when their results are told."""

    calls: tuple[ToolCall, ...]
    text: str
    session_id: str
    n: int
    usage: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Failed:
    """No whole answer came. The user's message is stored as `session_id#n` all the same."""

    error: LetopisError
    session_id: str
    n: int


Event = TextDelta | ToolStarted | ToolDone | Done | Handed | Failed
