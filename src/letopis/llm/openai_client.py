"""One client for every endpoint that speaks the OpenAI chat protocol.

The `openai` package is imported at the first call. It retries busy and failing endpoints and
honours Retry-After; its errors are translated here, by class, into ours.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from letopis.errors import AnswerUnusable, KeyRefused, ModelError, RequestRefused, Unavailable
from letopis.llm import thinking
from letopis.llm.port import Reply, Request, ToolCall
from letopis.settings.tree import ModelSettings

if TYPE_CHECKING:
    import openai

# openai's class → ours, and what a person can do. The first match counts.
TRANSLATIONS: tuple[tuple[str, type[ModelError], str], ...] = (
    ("AuthenticationError", KeyRefused, "check model.api_key"),
    ("PermissionDeniedError", KeyRefused, "the key may not use this model; check model.name and the account"),
    ("RateLimitError", Unavailable, "it is busy or the quota is used up; wait, or check the account"),
    ("APITimeoutError", Unavailable, "it took too long; raise model.timeout or try again"),
    ("APIConnectionError", Unavailable, "it cannot be reached; check model.base_url and that it runs"),
    ("InternalServerError", Unavailable, "the fault is on its side; try again later"),
    ("APIResponseValidationError", AnswerUnusable, "check that model.base_url is an OpenAI-compatible address"),
    ("APIStatusError", RequestRefused, "check model.name and model.base_url"),
    ("APIError", Unavailable, "try again later"),
    ("OpenAIError", RequestRefused, "check the settings of the model (`letopis config`)"),
)


class OpenAIModel:
    """A model at an endpoint."""

    def __init__(self, settings: ModelSettings, name: str) -> None:
        self._settings, self._name = settings, name
        self._client: openai.OpenAI | None = None

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def complete(self, request: Request) -> Reply:
        """The whole answer at once."""
        try:
            answer = self._connected().chat.completions.create(**self._arguments(request))
        except Exception as error:
            raise translated(error, self._where) from error
        choices = getattr(answer, "choices", None)
        if not choices:
            raise AnswerUnusable(
                f"{self._where} answered with something else than a chat completion; check that "
                "model.base_url ends where its OpenAI-compatible address does (often in /v1)"
            )
        message = choices[0].message
        calls = tuple(
            ToolCall(call.id or f"call_{at}", call.function.name or "", call.function.arguments)
            for at, call in enumerate(message.tool_calls or [])
            if getattr(call, "function", None) is not None
        )
        text = thinking.stripped(message.content if isinstance(message.content, str) else "")
        finish = choices[0].finish_reason or ("tool_calls" if calls else "stop")
        prompt, completion = _usage(answer)
        return Reply(text, calls, finish, prompt, completion, self._name)

    def stream(self, request: Request) -> Iterator[str | Reply]:
        """Pieces of text as they come, then the whole Reply. A stream that is cut is an error."""
        parts = _Parts()
        try:
            chunks = self._connected().chat.completions.create(
                **self._arguments(request), stream=True, stream_options={"include_usage": True}
            )
            with chunks:
                for chunk in chunks:
                    visible = parts.take(chunk)
                    if visible:
                        yield visible
        except Exception as error:
            raise translated(error, self._where) from error
        rest = parts.filter.rest()
        if rest:
            yield rest
        if not parts.finish:
            raise AnswerUnusable(f"the answer of {self._where} was cut off; ask again")
        yield parts.reply(self._name)

    def _connected(self) -> openai.OpenAI:
        if self._client is None:
            import openai

            self._client = openai.OpenAI(
                api_key=self._settings.api_key or "none",
                base_url=self._settings.base_url or None,
                timeout=self._settings.timeout,
                max_retries=self._settings.retries,
            )
            weakref.finalize(self, self._client.close)
        return self._client

    def _arguments(self, request: Request) -> dict[str, Any]:
        """The call. What grows with the conversation goes around the client's walk over its types: 50 ms a prompt."""
        settings = self._settings
        limit = "max_tokens" if settings.base_url else "max_completion_tokens"
        body: dict[str, Any] = {"messages": list(request.messages)}
        out: dict[str, Any] = {"model": self._name, "messages": [], limit: settings.max_tokens, "extra_body": body}
        if settings.temperature >= 0:
            out["temperature"] = settings.temperature
        if request.tools or request.wire_tools:
            body["tools"] = [*request.wire_tools, *(tool.wire() for tool in request.tools)]
        if request.force:
            body["tool_choice"] = {"type": "function", "function": {"name": request.force}}
        if request.json_schema is not None:
            schema = {"name": request.json_schema.name, "schema": dict(request.json_schema.parameters)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        for name in request.extra.keys() & {limit, "max_tokens", "max_completion_tokens", "temperature"}:
            out.pop(limit if "max" in name else name, None)
        body |= request.extra
        return out

    @property
    def _where(self) -> str:
        return f"model {self._name!r} at {self._settings.base_url or 'the default endpoint'}"


def translated(error: Exception, where: str) -> ModelError:
    """Our error for one of the client's; `where` names the model and the endpoint."""
    if isinstance(error, ModelError):
        return error
    import openai

    for name, kind, advice in TRANSLATIONS:
        if isinstance(error, getattr(openai, name)):
            status = getattr(error, "status_code", None)
            said = f" (HTTP {status})" if status else ""
            made = kind(f"{where} gave no answer{said}: {advice}")
            if status:
                made.upstream = (int(status), getattr(error, "body", None))
            return made
    return AnswerUnusable(f"the answer of {where} cannot be read ({type(error).__name__}); ask again")


class _Parts:
    """The pieces of a streamed answer, put together."""

    def __init__(self) -> None:
        self.filter = thinking.Filter()
        self.text = ""
        self.finish = ""
        self.calls: dict[int, dict[str, str]] = {}
        self.usage = (0, 0)

    def take(self, chunk: Any) -> str:
        """Take in a chunk; returns the text in it that may be shown."""
        used = _usage(chunk)
        if used != (0, 0):
            self.usage = used
        choices = getattr(chunk, "choices", None)
        if not choices:
            return ""
        self.finish = choices[0].finish_reason or self.finish
        delta = choices[0].delta
        for call in getattr(delta, "tool_calls", None) or []:
            held = self.calls.setdefault(call.index or 0, {"id": "", "name": "", "arguments": ""})
            held["id"] = call.id or held["id"]
            if call.function is not None:
                held["name"] += call.function.name or ""
                held["arguments"] += call.function.arguments or ""
        piece = getattr(delta, "content", None)
        if not isinstance(piece, str) or not piece:
            return ""
        self.text += piece
        return self.filter.feed(piece)

    def reply(self, model: str) -> Reply:
        calls = tuple(
            ToolCall(call["id"] or f"call_{at}", call["name"], call["arguments"])
            for at, call in sorted(self.calls.items())
        )
        return Reply(thinking.stripped(self.text), calls, self.finish, *self.usage, model)


def _usage(answer: Any) -> tuple[int, int]:
    usage = getattr(answer, "usage", None)
    if usage is None:
        return 0, 0
    values: Mapping[str, Any] = usage if isinstance(usage, Mapping) else vars(usage)
    numbers = (values.get("prompt_tokens"), values.get("completion_tokens"))
    prompt, completion = (n if isinstance(n, int) else 0 for n in numbers)
    return prompt, completion
