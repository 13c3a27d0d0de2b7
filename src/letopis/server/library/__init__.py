"""The memory library: the pages where a person sees and corrects what is remembered."""

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles

from letopis.server.guard import PAGES, STATIC
from letopis.server.library import (
    chat,
    context,
    entering,
    experience,
    facts,
    health,
    notes,
    overview,
    profile,
    search,
    sessions,
)
from letopis.server.library.page import STATIC as FILES
from letopis.server.library.page import as_sent, language_of, rendered
from letopis.settings import SystemClock

_PARTS = (overview, entering, profile, facts, notes, sessions, search, context, experience, chat, health)


def add_to(app: FastAPI) -> None:
    """Put the pages into the server."""
    for part in _PARTS:
        app.include_router(part.router)
    app.mount(STATIC.rstrip("/"), StaticFiles(directory=FILES))


def is_asked_for(request: Request) -> bool:
    """Whether a browser asks for a page, so that an error must be one too."""
    return request.url.path.startswith(PAGES) and "text/html" in request.headers.get("accept", "")


def problem_page(request: Request, status: int, detail: str) -> Response:
    """An error as a page."""
    today = SystemClock("").now().date()
    text = rendered("problem.html", language_of(request), today, request.url.path, status=status, detail=detail)
    return as_sent(request, text, status)
