"""What the assistant sees before its next reply: the prompt of a conversation, block by block."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from letopis.memory import DEFAULT_KEY, Memory
from letopis.model.messages import text_of
from letopis.server.library.page import shown
from letopis.server.library.titles import titled

router = APIRouter(include_in_schema=False)
WIDTH = 1_000
_MOST_SHOWN = 100


@router.get("/library/context")
async def context(request: Request, key: Annotated[str, Query(max_length=512)] = "") -> Response:
    """The prompt of the live conversation under a key; without one that of the newest."""

    def view(memory: Memory) -> Mapping[str, Any]:
        live = [line for line in memory.store.sessions.all() if line.state == "live"]
        chosen = key or (live[0].key if live else DEFAULT_KEY)
        prompt = memory.context(chosen)
        scale = max(1, prompt.budget)
        bars = [(block, _width(block.tokens, scale), _width(block.cap, scale)) for block in prompt.blocks]
        talk = [(str(m["role"]), text_of(m.get("content"))) for m in prompt.messages[1:]][-_MOST_SHOWN:]
        return {"place": "context", "live": titled(memory, live[:200]), "key": chosen, "prompt": prompt,
                "bars": bars, "talk": talk, "width": WIDTH, "used": _width(prompt.tokens, scale)}  # fmt: skip

    return await shown(request, "context.html", view)


def _width(tokens: int, scale: int) -> int:
    return min(WIDTH, round(WIDTH * tokens / scale)) if tokens else 0
