"""A conversation with the assistant by the API: one question, and its answer as it comes (server-sent events)."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from letopis.errors import LetopisError
from letopis.server.api.forms import Key, memory_of
from letopis.server.crossing import items
from letopis.server.workspaces import Opened
from letopis.turn import Done, Event, Failed, TextDelta, ToolDone, ToolStarted

router = APIRouter(prefix="/api", tags=["memory"])


class Question(BaseModel):
    """What a person says."""

    key: Key
    text: Annotated[str, Field(min_length=1, max_length=200_000)]


@router.post("/turn", response_class=StreamingResponse)
async def turn(request: Request, question: Question) -> StreamingResponse:
    """Answer with the memory, and keep both. Events: `text`, `tool`, `found`, then `done` or `failed`."""
    opened: Opened = request.state.opened
    events = items(iter(memory_of(request).stream(question.key, question.text)))

    async def lines() -> AsyncIterator[bytes]:
        try:
            async with aclosing(events) as coming:  # type: ignore[type-var]
                async for event in coming:
                    yield _line(*_told(event))
        except LetopisError as error:
            yield _line("failed", {"error": str(error)})
        opened.worker.notify()

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _told(event: Event) -> tuple[str, Mapping[str, Any]]:
    match event:
        case TextDelta(text):
            return "text", {"text": text}
        case ToolStarted(name, arguments):
            return "tool", {"name": name, "arguments": arguments}
        case ToolDone(name, result):
            return "found", {"name": name, "result": result}
        case Done(text, session_id, n):
            return "done", {"text": text, "session_id": session_id, "n": n}
        case Failed(error, session_id, n):
            return "failed", {"error": str(error), "session_id": session_id, "n": n}
    return "other", {}


def _line(name: str, record: Mapping[str, Any]) -> bytes:
    data = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
