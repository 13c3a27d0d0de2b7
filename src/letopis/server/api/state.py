"""The state of the server by the API, and what its worker does."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from letopis.server.api.forms import memory_of, told
from letopis.server.crossing import in_thread
from letopis.server.workspaces import Opened, Visitor

router = APIRouter(prefix="/api", tags=["memory"])
_LOOK_EVERY = 1.0


@router.get("/status")
async def status(request: Request) -> Response:
    """What is in the workspace and what waits."""

    def read() -> Mapping[str, Any]:
        memory, opened = memory_of(request), request.state.opened
        lines = memory.store.sessions.all()
        states = {name: sum(line.state == name for line in lines) for name in ("live", "closing", "archived")}
        view = memory.store.facts.view()
        return {
            "model": memory.store.settings.model.name or None, "sessions": states, "facts": len(view.facts),
            "messages": sum(line.message_count for line in lines), "memory_problem": view.problem,
            "worker": opened.worker.step, "due": memory.due(),
        }  # fmt: skip

    return told(await in_thread(read))


@router.get("/events", response_class=StreamingResponse)
async def events(request: Request) -> StreamingResponse:
    """What the worker does, as server-sent events, from now on."""
    opened: Opened = request.state.opened
    last = opened.events[-1][0] if opened.events else 0

    def gone() -> bool:
        visitor: Visitor = request.state.visitor
        return not request.app.state.workspaces.lets_in(visitor)

    async def lines() -> AsyncIterator[bytes]:
        seen, step = last, ""
        yield b": what the worker does\n\n"
        while not (request.app.state.stopping() or await request.is_disconnected() or await in_thread(gone)):
            for number, record in [one for one in list(opened.events) if one[0] > seen]:
                seen = number
                yield f"id: {number}\nevent: {record['event']}\ndata: {json.dumps(record)}\n\n".encode()
            if opened.worker.step != step:
                step = opened.worker.step
                yield f"event: step\ndata: {json.dumps({'step': step})}\n\n".encode()
            await anyio.sleep(_LOOK_EVERY)

    return StreamingResponse(lines(), media_type="text/event-stream")
