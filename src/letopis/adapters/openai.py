"""A memory for programs that use the `openai` package: two lines.

    from letopis.adapters.openai import remembering

    client = remembering(openai.OpenAI(), memory, key="my-bot:42")

`client.chat.completions.create(...)` then keeps what is said, and the model knows what the memory
knows: its prompt stands behind the program's own system prompt. Everything else is the client's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from letopis.memory import Memory
from letopis.model import resent
from letopis.model.messages import text_of


def remembering(client: Any, memory: Memory, key: str) -> Any:
    """The client with a memory. What it is told is appended to the live session of the key."""
    return _Part(client, {"chat": _Part(client.chat, {"completions": _Completions(client, memory, key)})})


class _Part:
    """Something of the client with one attribute replaced."""

    def __init__(self, whole: Any, replaced: Mapping[str, Any]) -> None:
        self._whole, self._replaced = whole, replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced[name] if name in self._replaced else getattr(self._whole, name)


class _Completions:
    def __init__(self, client: Any, memory: Memory, key: str) -> None:
        self._client, self._memory, self._key = client, memory, key

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client.chat.completions, name)

    def create(self, *, messages: Sequence[Mapping[str, Any]], **options: Any) -> Any:
        """The client's own call with what the memory knows; the messages and the answer are kept."""
        own = [m for m in messages if m.get("role") in ("system", "developer")]
        said = [m for m in messages if m.get("role") not in ("system", "developer")]
        self._keep(said)
        known = str(self._memory.context(self._key).messages[0]["content"])
        lead = "\n\n".join([*(text_of(m.get("content")) for m in own), known])
        answer = self._client.chat.completions.create(messages=[{"role": "system", "content": lead}, *said], **options)
        if options.get("stream"):
            return self._streamed(answer)
        choice = answer.choices[0]
        self._memory.append(self._key, choice.message.model_dump(exclude_none=True, mode="json"))
        return answer

    def _keep(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Append what is not stored yet: a program may send all of a conversation again, or only its end."""
        live = self._memory.store.sessions.live(self._key)
        known = resent.stored(live) if live is not None else []
        _, count = resent.aligned(known, resent.sent(said)) if said else (0, 0)
        for message in said[count:]:
            self._memory.append(self._key, message)

    def _streamed(self, chunks: Any) -> Iterator[Any]:
        """The chunks as they come; what came is kept, also where the program stops listening."""
        text, whole = "", False
        try:
            for chunk in chunks:
                if chunk.choices:
                    text += chunk.choices[0].delta.content or ""
                    whole = whole or chunk.choices[0].finish_reason is not None
                yield chunk
        finally:
            if text:
                cut = {} if whole else {"interrupted": True}
                self._memory.append(self._key, {"role": "assistant", "content": text, **cut})
