"""A model that says what it is told to: for tests, examples and documentation.

`ScriptedModel` stands behind the port itself; `ScriptedServer` (letopis.llm.scripted_server)
speaks the real protocol over real HTTP.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from letopis.llm import thinking
from letopis.llm.port import Reply, Request, ToolCall

Script = str | Reply | Exception | Callable[[Request], str | Reply]


def calling(name: str, arguments: Any) -> Reply:
    """A reply that calls one tool. Arguments that are no text are sent as JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Reply("", (ToolCall("call_0", name, text),), "tool_calls")


class ScriptedModel:
    """Gives its queued answers in order, then `otherwise` for ever. `requests` are kept."""

    def __init__(self, *script: Script, otherwise: Script = "OK.", name: str = "scripted") -> None:
        self._script, self._otherwise, self._name = list(script), otherwise, name
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def enqueue(self, *script: Script) -> None:
        """Add answers to the queue."""
        self._script += script

    def complete(self, request: Request) -> Reply:
        """The next answer."""
        self.requests.append(request)
        item = self._script.pop(0) if self._script else self._otherwise
        if isinstance(item, Exception):
            raise item
        made = item(request) if callable(item) else item
        reply = made if isinstance(made, Reply) else Reply(made, model=self._name)
        return replace(reply, text=thinking.stripped(reply.text))

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """The next answer, word by word."""
        reply = self.complete(request)
        for at, word in enumerate(reply.text.split(" ")):
            if word:
                yield word if at == 0 else f" {word}"
        yield reply
