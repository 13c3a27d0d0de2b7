"""What is known, by the API: search and notes."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from letopis.model.search import KINDS
from letopis.server.api.forms import (
    Cursor,
    Day,
    Limit,
    etag_of,
    memory_of,
    page,
    told,
)
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused

router = APIRouter(prefix="/api", tags=["memory"])


@router.get("/search")
async def search(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=4_000)],
    scope: Literal["notes", "transcripts", "experience", "all"] = "all",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    key: str | None = None,
    kind: Literal[KINDS] | None = None,  # type: ignore[valid-type]
    since: Day = None,
    until: Day = None,
) -> Response:
    """Find what was kept or said."""
    filters = {"key": key, "kind": kind, "since": since, "until": until}
    found = await in_thread(lambda: memory_of(request).search(q, scope=scope, k=limit, **filters))
    return told(found.record())


@router.get("/notes")
async def notes(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The names of the notes."""
    return told(page(await in_thread(memory_of(request).store.notes.names), cursor, limit, "notes"))


@router.get("/notes/{name:path}")
async def note(request: Request, name: str) -> Response:
    """The text of a note."""

    def read() -> str:
        store = memory_of(request).store
        text = store.notes.read(name) if name in store.notes.names() else None
        if text is None:
            raise Refused(404, f"there is no note {name[:200]!r}; /api/notes lists those there are")
        return text

    text = await in_thread(read)
    return told({"name": name, "text": text}, etag=etag_of(text))
