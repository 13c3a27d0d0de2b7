"""Search over everything, with what each hit was found by."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from letopis.errors import LetopisError
from letopis.memory import Memory
from letopis.model.search import SCOPES, Found, Hit
from letopis.server.library.page import shown

router = APIRouter(include_in_schema=False)
KINDS = ("fact", "message", "summary", "daily", "digest", "note", "archived", "case", "lesson", "raw")
_MORE = 20
Date = Annotated[str, Query(pattern=r"^(\d{4}-\d{2}-\d{2})?$")]


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit, where it is shown, and what it was found by: the name of a signal and its share of the score."""

    hit: Hit
    text: str
    address: str
    why: tuple[tuple[str, float], ...]


@router.get("/library/search")
async def search(
    request: Request,
    q: Annotated[str, Query(max_length=2_000)] = "",
    scope: Literal["all", "notes", "transcripts", "experience"] = "all",
    kind: str = "",
    since: Date = "",
    until: Date = "",
    limit: Annotated[int, Query(ge=1, le=200)] = _MORE,
) -> Response:
    """The hits for a question."""
    chosen = kind if kind in KINDS else ""

    def view(memory: Memory) -> Mapping[str, Any]:
        found, problem = None, ""
        if q.strip():
            try:
                filters = {"kind": chosen or None, "since": since or None, "until": until or None}
                found = memory.search(q, scope=scope, k=limit, **filters)
            except LetopisError as error:
                problem = str(error)
        asked = {"q": q, "scope": scope, "kind": chosen, "since": since, "until": until, "limit": limit}
        return {"place": "search", **asked, "found": found, "problem": problem, "hits": _hits(found),
                "kinds": KINDS, "scopes": SCOPES, "more": limit + _MORE}  # fmt: skip

    return await shown(request, "search.html", view)


def _hits(found: Found | None) -> list[Shown]:
    return (
        [Shown(hit, re.sub(r"^\s*(?:[-*+]|#+)\s+", "", hit.text), _address(hit), _why(hit)) for hit in found.hits]
        if found
        else []
    )


def _address(hit: Hit) -> str:
    if hit.session_id and hit.n:
        return f"/library/sessions/{hit.session_id}?n={hit.n}#m{hit.n}"
    if hit.kind == "fact":
        return "/library/facts"
    if hit.kind in ("case", "lesson"):
        return "/library/experience" if hit.kind == "case" else "/library/experience/lessons"
    return f"/library/notes/{quote(hit.path)}"


def _why(hit: Hit) -> tuple[tuple[str, float], ...]:
    """The signals that gave something, the greatest first, as shares of the whole."""
    given = {name: value for name, value in hit.parts.items() if value > 0.005}
    whole = sum(given.values()) or 1.0
    return tuple(sorted(((name, value / whole) for name, value in given.items()), key=lambda pair: -pair[1]))
