"""Conversations by the API: append, list, read, close, delete, and the prompt of the next reply."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from letopis.errors import InvalidInput
from letopis.lifecycle.lookup import record_of
from letopis.memory import Memory
from letopis.model.messages import ROLES
from letopis.server.api.forms import (
    Cursor,
    Key,
    Limit,
    Match,
    check_version,
    etag_of,
    memory_of,
    page,
    told,
)
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused
from letopis.server.workspaces import Opened
from letopis.short_term.lookup import look_up
from letopis.store.transcripts import Appended

router = APIRouter(prefix="/api", tags=["memory"])


_ALL = 1 << 30


class NewMessage(BaseModel):
    """A message of a conversation, in OpenAI chat form; further fields are kept with it as they are."""

    model_config = ConfigDict(extra="allow")

    key: Key
    role: Literal[ROLES]  # type: ignore[valid-type]
    content: str | list[dict[str, Any]] | None = Field(examples=["The deadline is on 12 May."])
    id: str | None = Field(None, description="a repeated id is stored once")
    name: str | None = None
    session_id: str | None = None


@router.post("/messages", status_code=201)
async def append(request: Request, message: NewMessage) -> Response:
    """Keep a message; it is on disk when the answer comes."""
    wire = message.model_dump(exclude_unset=True, exclude={"key", "session_id"})

    def stored() -> Mapping[str, Any]:
        memory = memory_of(request)
        made = memory.append(message.key, wire, session_id=message.session_id)
        if not made.new and not _is_the_same(memory, made, wire):
            raise Refused(409, f"message {message.id!r} is known with other words; a new message needs a new id")
        return {"session_id": made.session_id, "n": made.n, "new": made.new}

    return told(await in_thread(stored), 201)


@router.get("/sessions")
async def sessions(
    request: Request, cursor: Cursor = 0, limit: Limit = 50, key: str | None = None, slug: str | None = None
) -> Response:
    """The conversations, newest first."""
    found = await in_thread(lambda: memory_of(request).sessions(key=key, slug=slug))
    return told(page([{**line.record(), "state": line.state} for line in found], cursor, limit, "sessions"))


@router.get("/sessions/{session_id}")
async def history(
    request: Request, session_id: str, start: Annotated[int, Query(ge=1, le=1 << 53)] = 1, limit: Limit = 100
) -> Response:
    """A conversation, word for word, from a message on."""

    def read() -> Mapping[str, Any]:
        line, transcript = memory_of(request).history(session_id=session_id)
        chosen = [m for m in transcript.messages if m.n >= start and not m.internal]
        out: dict[str, Any] = {"session": {**line.record(), "state": line.state}}
        out["messages"] = [record_of(m, transcript) for m in chosen[:limit]]
        return out | ({"next": chosen[limit].n} if len(chosen) > limit else {})

    return told(await in_thread(read))


@router.get("/sessions/{session_id}/find")
async def find(
    request: Request, session_id: str, words: Annotated[str, Query(min_length=1, max_length=500)]
) -> Response:
    """The messages of one conversation that hold the words, newest first."""

    def found() -> Mapping[str, Any]:
        memory = memory_of(request)
        line, transcript = memory.history(session_id=session_id)
        looked = look_up(memory.store, memory.index, line.session_id, words, _ALL, transcript.last_n + 1)
        lines = [{"n": int(one.source[1:]), "role": one.role, "timestamp": one.timestamp, "text": one.text}
                 for one in looked.lines]  # fmt: skip
        return {"total": looked.total, "every_word": looked.every, "messages": lines}

    return told(await in_thread(found))


@router.delete("/sessions/{session_id}")
async def delete(request: Request, session_id: str, if_match: Match = None) -> Response:
    """Delete a conversation for good: transcript, notes and index line."""

    def deleted() -> Mapping[str, Any]:
        memory = memory_of(request)
        line = memory.store.sessions.get(session_id)
        check_version(if_match, etag_of(line.record()))
        _, paths = memory.store.delete_session(line.session_id)
        return {"session_id": line.session_id, "removed": paths}

    return told(await in_thread(deleted))


@router.post("/close")
async def close(request: Request, given: dict[str, Any]) -> Response:
    """End the live conversation of a key, at once; facts, summary and archive follow."""
    key = given.get("key")
    if not isinstance(key, str) or not key.strip():
        raise InvalidInput("the body must be an object with the key of a conversation, such as telegram:12345")
    session_id = await in_thread(memory_of(request).close, key)
    opened: Opened = request.state.opened
    opened.worker.notify()
    return told({"session_id": session_id})


@router.get("/context")
async def context(request: Request, key: Annotated[str, Query(min_length=1)]) -> Response:
    """What the next prompt of a conversation is made of, and the prompt itself."""

    def read() -> Mapping[str, Any]:
        prompt = memory_of(request).context(key)
        blocks = [
            {"name": b.name, "tokens": b.tokens, "cap": b.cap, "cut": b.cut, "problem": b.problem}
            for b in prompt.blocks
        ]
        sizes = {"tokens": prompt.tokens, "budget": prompt.budget, "window": prompt.window}
        return {**sizes, "blocks": blocks, "messages": prompt.messages}

    return told(await in_thread(read))


def _is_the_same(memory: Memory, made: Appended, wire: Mapping[str, Any]) -> bool:
    known = memory.store.sessions.transcript(made.session_id).message(made.n)
    return known is None or known.stored.get("content") == wire.get("content")
