"""The OpenAI-compatible proxy: a base URL that gives any client a memory.

The client's own system prompt, tools and parameters go through; the memory's prompt and tools are
added and stay unseen. Errors of the upstream come back as they are.
"""

import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from letopis.errors import InvalidInput, LetopisError, ModelError
from letopis.llm import ChatModel
from letopis.llm.openai_client import OpenAIModel
from letopis.model.messages import check, text_of
from letopis.server import passing
from letopis.server.conversations import Asked, after_new, digest_of, is_new
from letopis.server.crossing import in_thread, items
from letopis.server.problems import encoded, status_of
from letopis.server.workspaces import Opened
from letopis.turn import Done, Event, Failed, Handed, Outside, TextDelta

router = APIRouter()
OWN_MODEL = "letopis"
_JSON = "application/json"
_OURS = frozenset(("model", "messages", "stream", "stream_options", "tools", "user", "metadata", "n", "tool_choice"))


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a completion, read once."""

    asked: Asked
    model: str
    stream: bool
    with_usage: bool


@router.get("/v1/models")
async def models(request: Request) -> Response:
    """The models that may be named: the memory's own name, which means the configured one."""
    memory = request.state.opened.memory
    names = dict.fromkeys([OWN_MODEL, *filter(None, [memory.store.settings.model.name])])
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "letopis"} for name in names]
    return JSONResponse({"object": "list", "data": data})


@router.post("/v1/embeddings")
async def embeddings(request: Request) -> Response:
    """Vectors of the local embedder."""
    memory, body = request.state.opened.memory, await _body(request)
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) and t.strip() for t in texts):
        return _error(400, "input must be a text or a list of texts that are not blank")
    if len(texts) > 512:
        return _error(400, f"at most 512 texts at once are embedded; these are {len(texts)}")
    vectors = await in_thread(memory.index.vectors, texts)
    if vectors is None:
        return _error(400, "this workspace has no embedder (embedding.kind)")
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(vectors)]
    used = sum(len(text) // 4 + 1 for text in texts)
    usage = {"prompt_tokens": used, "total_tokens": used}
    return JSONResponse({"object": "list", "data": data, "model": str(body.get("model")), "usage": usage})


@router.post("/v1/chat/completions")
async def completions(request: Request) -> Response:
    """Answer with the memory; with `X-Letopis-Memory: off` without it."""
    opened: Opened = request.state.opened
    body = await _body(request)
    if request.headers.get("x-letopis-memory", "").strip().casefold() == "off":
        return await passing.through(opened.memory.store.settings.model, body)
    try:
        call = await in_thread(_read, opened, body, request.headers)
    except InvalidInput as error:
        return _error(400, str(error))
    if call.asked.messages and is_new(call.asked.messages[-1]):
        return await _closed(opened, call)
    events = _Events(items(opened.conversations.answer(call.asked)), call.model)
    try:
        return await events.response(call)
    except LetopisError as error:
        return _failure(error)


async def _body(request: Request) -> dict[str, Any]:
    data = await request.body()
    try:
        body = await in_thread(_parsed, data)
    except (ValueError, RecursionError):
        raise InvalidInput("the body is not valid JSON") from None
    if not isinstance(body, dict):
        raise InvalidInput("the body must be a JSON object")
    return body


def _parsed(data: bytes) -> Any:
    """JSON that can be sent on: no number that is none, no half of a character."""
    body = json.loads(data, parse_constant=_refused)
    if b"\\ud" in data.lower():
        json.dumps(body, ensure_ascii=False).encode()
    return body


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _read(opened: Opened, body: Mapping[str, Any], headers: Mapping[str, str]) -> Call:
    """What is asked. Raises InvalidInput."""
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise InvalidInput("messages must be a list with at least one message")
    messages = [_checked(message) for message in given]
    if body.get("n") not in (None, 1):
        raise InvalidInput("n must be 1: a conversation that is remembered has one answer")
    tools = body.get("tools") or []
    if not isinstance(tools, list) or not all(isinstance(tool, Mapping) for tool in tools):
        raise InvalidInput("tools must be a list of tools")
    own = [m for m in messages if m["role"] in ("system", "developer")]
    system = "\n\n".join(text_of(m.get("content")) for m in own)
    extra = {name: value for name, value in body.items() if name not in _OURS}
    if tools and "tool_choice" in body:
        extra["tool_choice"] = body["tool_choice"]
    name = str(body.get("model") or "")
    outside = Outside(system, tuple(tools), extra, _model(opened, name), takes_cuts=True)
    digest, named = digest_of(body), headers.get("idempotency-key", "")
    again = bool(named) or headers.get("x-stainless-retry-count", "0").strip() not in ("", "0")
    said = after_new([m for m in messages if m["role"] not in ("system", "developer")])
    asked = Asked(said, outside, _key(body, headers), f"key {named}" if named else f"body {digest}", digest, again)
    options = body.get("stream_options")
    with_usage = isinstance(options, Mapping) and options.get("include_usage") is True
    return Call(asked, name or OWN_MODEL, body.get("stream") is True, with_usage)


def _checked(message: object) -> Mapping[str, Any]:
    """A message that can be kept and sent on. Raises InvalidInput."""
    wire = check(message)
    if not isinstance(wire.get("tool_calls") or [], list):
        raise InvalidInput("tool_calls must be a list")
    if not isinstance(wire.get("content") or "", str | list):
        raise InvalidInput(f"the content of a message must be a text or a list of parts, not {wire['content']!r:.80}")
    return wire


def _key(body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """The conversation that a request names, if it names one."""
    metadata = body.get("metadata")
    inner = metadata.get("session") if isinstance(metadata, Mapping) else None
    for value in (headers.get("x-letopis-session"), body.get("user"), inner):
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _model(opened: Opened, name: str) -> ChatModel | None:
    """The upstream's model of a name; the memory's own name, and the configured one, are the model of the workspace."""
    settings = opened.memory.store.settings.model
    chat = opened.memory.models.chat
    if chat is None or name in ("", OWN_MODEL, settings.name):
        return chat
    return OpenAIModel(settings, name)


async def _closed(opened: Opened, call: Call) -> Response:
    try:
        session_id = await in_thread(opened.conversations.close, call.asked)
    except LetopisError as error:
        return _failure(error)
    opened.worker.notify()
    text = "A new conversation begins." if session_id else "Nothing was said yet; this is a new conversation."

    async def told() -> AsyncIterator[Event]:
        yield TextDelta(text)
        yield Done(text, session_id or "", 0)

    return await _Events(told(), call.model).response(call)


class _Events:
    """The events of a turn as the answer of the protocol."""

    def __init__(self, events: AsyncIterator[Event], model: str) -> None:
        self._events, self._model = events, model
        self._id, self._created = f"chatcmpl-{uuid.uuid4().hex[:24]}", int(time.time())

    async def response(self, call: Call) -> Response:
        """One answer, or a stream; what fails before the first word is an error with its own status."""
        if not call.stream:
            return await self._whole()
        first = await anext(self._events)
        while not isinstance(first, TextDelta | Done | Handed | Failed):
            first = await anext(self._events)
        if isinstance(first, Failed):
            return _failure(first.error)
        return StreamingResponse(self._lines(first, call.with_usage), media_type="text/event-stream")

    async def _whole(self) -> Response:
        text = ""
        async with aclosing(self._events) as events:  # type: ignore[type-var]
            async for event in events:
                match event:
                    case TextDelta(piece):
                        text += piece
                    case Failed(error):
                        return _failure(error)
                    case Done(_, session_id, _, usage, finish):
                        message: dict[str, Any] = {"role": "assistant", "content": text or event.text, "refusal": None}
                        return self._completion(message, finish, usage, session_id)
                    case Handed(calls, _, session_id, _, usage):
                        wires = [_wire(call) for call in calls]
                        message = {"role": "assistant", "content": text or None, "tool_calls": wires, "refusal": None}
                        return self._completion(message, "tool_calls", usage, session_id)
        return _error(502, "the answer ended without an end")

    def _completion(self, message: dict[str, Any], finish: str, usage: tuple[int, int], session_id: str) -> Response:
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        body = {"id": self._id, "object": "chat.completion", "created": self._created, "model": self._model}
        record = {**body, "choices": [choice], "usage": _usage(usage)}
        return Response(encoded(record), headers={"x-letopis-session-id": session_id or "-"}, media_type=_JSON)

    async def _lines(self, first: Event, with_usage: bool) -> AsyncIterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})
        if isinstance(first, Done) and first.text:
            yield self._chunk({"content": first.text})
        try:
            async with aclosing(self._events) as events:  # type: ignore[type-var]
                for line in self._shown(first, with_usage):
                    yield line
                async for event in events:
                    for line in self._shown(event, with_usage):
                        yield line
        except LetopisError as error:
            yield _line({"error": {"message": str(error), "type": "api_error", "code": None}})
        yield b"data: [DONE]\n\n"

    def _shown(self, event: Event, with_usage: bool) -> Iterator[bytes]:
        match event:
            case TextDelta(text):
                yield self._chunk({"content": text})
            case Failed(error):
                body = error.upstream[1] if isinstance(error, ModelError) and error.upstream else None
                own = {"message": str(error), "type": "api_error", "code": None}
                yield _line({"error": body if isinstance(body, Mapping) else own})
            case Done(_, _, _, usage, finish):
                yield from self._end(finish, usage, with_usage)
            case Handed(calls, _, _, _, usage):
                wires = [{"index": at, **_wire(call)} for at, call in enumerate(calls)]
                yield self._chunk({"tool_calls": wires})
                yield from self._end("tool_calls", usage, with_usage)

    def _end(self, finish: str, usage: tuple[int, int], with_usage: bool) -> Iterator[bytes]:
        yield self._chunk({}, finish)
        if with_usage:
            yield _line({**self._frame(), "choices": [], "usage": _usage(usage)})

    def _frame(self) -> dict[str, Any]:
        return {"id": self._id, "object": "chat.completion.chunk", "created": self._created, "model": self._model}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _line({**self._frame(), "choices": [choice]})


def _line(record: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


def _wire(call: Any) -> dict[str, Any]:
    text = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": text}}


def _failure(error: LetopisError) -> Response:
    """The upstream's own error where there is one, else ours in the same form."""
    if isinstance(error, ModelError) and error.upstream is not None:
        status, body = error.upstream
        record = {"error": body if body is not None else {"message": str(error)}}
        return Response(encoded(record), status, media_type=_JSON)
    return _error(400 if isinstance(error, InvalidInput) else status_of(error), str(error))


def _error(status: int, message: str) -> Response:
    kind = "invalid_request_error" if status < 500 else "api_error"
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return Response(encoded(body), status, media_type=_JSON)
