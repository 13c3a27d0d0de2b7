"""A memory for programs that use the `openai` package: two lines.

    from letopis.adapters.openai import remembering

    client = remembering(openai.OpenAI(), memory, key="my-bot:42")

`client.chat.completions.create(...)` then keeps what is said, and the model knows what the memory
knows: its prompt stands behind the program's own system prompt. Everything else is the client's own.
An asynchronous client works alike. What would go past the memory says so instead of forgetting.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from letopis.errors import InvalidInput
from letopis.lifecycle.continued import closed_of, going_on, seen_of
from letopis.lifecycle.supersede import supersede
from letopis.memory import Memory
from letopis.model import resent
from letopis.model.messages import text_of

_WAIT = 120.0  # seconds
_PAST = ("stream", "with_raw_response", "with_streaming_response")


def remembering(client: Any, memory: Memory, key: str) -> Any:
    """The client with a memory. What it is told is appended to the live session of the key."""
    return _Client(client, memory, key)


class _Client:
    """The client; its copies with other options remember too."""

    def __init__(self, client: Any, memory: Memory, key: str) -> None:
        self._client, self._memory, self._key = client, memory, key

    def __getattr__(self, name: str) -> Any:
        if name in ("beta", "responses", "completions"):
            raise InvalidInput(f"client.{name} goes past the memory; use chat.completions, or the bare client")
        return getattr(self._client, name)

    @property
    def chat(self) -> Any:
        """The client's own chat, with completions that remember."""
        return _Chat(self._client.chat, _Completions(self._client, self._memory, self._key))

    def with_options(self, **options: Any) -> "_Client":
        """A copy with other options."""
        return _Client(self._client.with_options(**options), self._memory, self._key)

    copy = with_options


class _Chat:
    def __init__(self, chat: Any, completions: "_Completions") -> None:
        self._chat, self.completions = chat, completions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)


class _Completions:
    def __init__(self, client: Any, memory: Memory, key: str) -> None:
        self._completions, self._memory, self._key = client.chat.completions, memory, key
        self._is_async = hasattr(client, "__aenter__")

    def __getattr__(self, name: str) -> Any:
        if name in _PAST:
            raise InvalidInput(f"completions.{name} goes past the memory; use create or parse, or the bare client")
        return getattr(self._completions, name)

    def create(self, *, messages: Iterable[Any], **options: Any) -> Any:
        """The client's own call with what the memory knows; the messages and the answer are kept."""
        return self._asked(self._completions.create, messages, options)

    def parse(self, *, messages: Iterable[Any], **options: Any) -> Any:
        """The same for structured answers."""
        return self._asked(self._completions.parse, messages, options)

    def _asked(self, call: Any, messages: Iterable[Any], options: Mapping[str, Any]) -> Any:
        given = [_wire(message) for message in messages]
        if self._is_async:
            return self._later(call, given, options)
        return self._kept(call(messages=self._told(given), **options), options)

    async def _later(self, call: Any, given: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Any:
        told = await asyncio.to_thread(self._told, given)
        answer = await call(messages=told, **options)
        return await asyncio.to_thread(self._kept, answer, options)

    def _told(self, given: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Keep what is new, and say what is asked of the model."""
        own = [m for m in given if m.get("role") in ("system", "developer")]
        said = [m for m in given if m.get("role") not in ("system", "developer")]
        self._keep(said)
        known = str(self._memory.context(self._key).messages[0]["content"])
        lead = "\n\n".join([*(text_of(m.get("content")) for m in own), known])
        return [{"role": "system", "content": lead}, *said]

    def _keep(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Append what is not stored yet: a program may send all of a conversation again, or only its end."""
        store = self._memory.store
        live = store.sessions.live(self._key)
        if live is None:
            self._go_on(said)
            return
        with store.session_lock(live.session_id, _WAIT):
            live = store.sessions.live(self._key) or live
            known = seen_of(store, live)
            found = resent.aligned(known, resent.sent(said)) if said else resent.Aligned()
            follows = resent.follows(known, found)
            if gone := [one.n for one in found.gone if one.n]:
                supersede(store, live, self._key, gone, text_of(said[-1].get("content")))
            for message in said[found.start :]:
                told = message if follows is None else {**message, resent.FOLLOWS: follows}
                self._memory.append(self._key, told, session_id=live.session_id)
                follows = None

    def _go_on(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Begin a session; what the program still sends of a closed one is not stored again."""
        sent, store = resent.sent(said), self._memory.store
        closed = closed_of(store, self._key, sent) if len(said) > 1 else ""
        count, metadata = going_on(store, closed, sent)
        for message in said[count:]:
            self._memory.append(self._key, message, metadata=metadata)
            metadata = {}

    def _kept(self, answer: Any, options: Mapping[str, Any]) -> Any:
        if options.get("stream"):
            kind = _AsyncStream if hasattr(answer, "__aiter__") else _Stream
            return kind(answer, _Gathered(self._memory, self._key))
        self._memory.append(self._key, _wire(answer.choices[0].message))
        return answer


def _wire(message: Any) -> Mapping[str, Any]:
    """A message as it is sent; programs hand back the client's own objects too."""
    if isinstance(message, Mapping):
        return message
    found: Mapping[str, Any] = message.model_dump(exclude_none=True, mode="json", exclude={"parsed"})
    return found


class _Gathered:
    """What came of a streamed answer; it is kept once, also where the program stops listening."""

    def __init__(self, memory: Memory, key: str) -> None:
        self._memory, self._key = memory, key
        self._text, self._whole, self._done = "", False, False
        self._calls: dict[int, dict[str, Any]] = {}

    def take(self, chunk: Any) -> None:
        """One chunk."""
        for choice in chunk.choices[:1]:
            self._text += choice.delta.content or ""
            self._whole = self._whole or choice.finish_reason is not None
            for part in choice.delta.tool_calls or ():
                call = self._calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = part.id or call["id"]
                call["name"] += (part.function.name or "") if part.function else ""
                call["arguments"] += (part.function.arguments or "") if part.function else ""

    def keep(self) -> None:
        """Store what came."""
        if self._done or not (self._text or self._calls):
            return
        self._done = True
        wire: dict[str, Any] = {"role": "assistant", "content": self._text or None}
        if self._calls and self._whole:
            wire["tool_calls"] = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in self._calls.values()
            ]
        self._memory.append(self._key, wire | ({} if self._whole else {"interrupted": True}))


class _Stream:
    """The client's stream, which remembers."""

    def __init__(self, stream: Any, gathered: _Gathered) -> None:
        self._stream, self._gathered = stream, gathered
        self._chunks = self._read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _read(self) -> Iterator[Any]:
        try:
            for chunk in self._stream:
                self._gathered.take(chunk)
                yield chunk
        finally:
            self._gathered.keep()

    def __iter__(self) -> Iterator[Any]:
        return self._chunks

    def __next__(self) -> Any:
        return next(self._chunks)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; what came is kept."""
        self._stream.close()
        self._gathered.keep()


class _AsyncStream:
    """The same of an asynchronous client."""

    def __init__(self, stream: Any, gathered: _Gathered) -> None:
        self._stream, self._gathered = stream, gathered
        self._chunks = self._read()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def _read(self) -> AsyncIterator[Any]:
        try:
            async for chunk in self._stream:
                self._gathered.take(chunk)
                yield chunk
        finally:
            await asyncio.to_thread(self._gathered.keep)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._chunks

    async def __anext__(self) -> Any:
        return await anext(self._chunks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop listening; what came is kept."""
        await self._stream.close()
        await asyncio.to_thread(self._gathered.keep)
