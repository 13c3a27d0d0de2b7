"""What Letopis asks of a language model, whichever it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

GOOD_FINISHES = ("stop", "tool_calls")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def wire(self) -> dict[str, Any]:
        """The tool as it is sent."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the model. `force` names the one tool that must be called.

    `wire_tools` are tools of somebody else as they came, `extra` are fields of the request to send as they are.
    """

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[ToolSpec] = ()
    force: str | None = None
    json_schema: ToolSpec | None = None
    wire_tools: Sequence[Mapping[str, Any]] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model wrote it; `arguments` is whatever it sent."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `finish` is stop, tool_calls, length, content_filter …"""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


class ChatModel(Protocol):
    """A model that answers chats. Errors are of `letopis.errors.ModelError`."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    def complete(self, request: Request) -> Reply:
        """The whole answer at once."""
        ...

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """Pieces of text as they come, then the whole Reply as the last item."""
        ...
