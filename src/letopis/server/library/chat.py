"""Talking to the assistant in the page; beside it stands what memory it used."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from letopis.memory import Memory
from letopis.server.library.page import shown

router = APIRouter(include_in_schema=False)
KEY = "web:chat"
_SHOWN = 60


@router.get("/library/chat")
async def chat(request: Request) -> Response:
    """The conversation of the page."""

    def view(memory: Memory) -> Mapping[str, Any]:
        live = memory.store.sessions.live(KEY)
        said = [m for m in live.standing() if m.spoken and m.text.strip()] if live is not None else []
        return {"place": "chat", "key": KEY, "said": said[-_SHOWN:], "earlier": max(0, len(said) - _SHOWN),
                "session_id": live.session_id if live is not None else "", "has_model": memory.models.chat is not None,
                "blocks": [one for one in memory.context(KEY).blocks if one.text and one.name != "system"]}  # fmt: skip

    return await shown(request, "chat.html", view)
