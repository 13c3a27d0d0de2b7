"""The door: a key is asked for once, and a random session stands for it afterwards."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from letopis.server.api.forms import told
from letopis.server.crossing import in_thread
from letopis.server.doors import COOKIE, IDLE, Doors
from letopis.server.guard import PAGES, Refused
from letopis.server.library.page import as_sent, language_of, rendered
from letopis.settings import SystemClock

router = APIRouter(include_in_schema=False)


class Shown(BaseModel):
    """The key that a person shows."""

    key: Annotated[str, Field(min_length=1, max_length=500)]


@router.get("/library/enter")
async def ask(request: Request, next: str = PAGES) -> Response:
    """The page that asks for the key."""
    after = next if next == PAGES or next.startswith(f"{PAGES}/") else PAGES
    today = SystemClock("").now().date()
    return as_sent(request, rendered("enter.html", language_of(request), today, request.url.path, after=after))


@router.post("/library/enter")
async def enter(request: Request, given: Shown) -> Response:
    """Open a session for whoever has the key."""
    doors: Doors = request.app.state.doors
    token = await in_thread(doors.enter, given.key)
    if token is None:
        raise Refused(401, "this key opens nothing here; `letopis keys list` shows the keys there are")
    answer = told({"status": "ok"})
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, token, max_age=int(IDLE), httponly=True, samesite="strict", secure=secure, path="/")
    return answer


@router.post("/library/leave")
async def leave(request: Request) -> Response:
    """End the session."""
    doors: Doors = request.app.state.doors
    doors.leave(request.headers.get("cookie", ""))
    answer = told({"status": "ok"})
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
