"""What the routes of the API share: kinds of parameters, versions, pages, the form of an answer."""

import json
from collections.abc import Mapping
from datetime import date
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Header, Query, Request
from fastapi.responses import Response
from pydantic import AfterValidator, Field

from letopis.memory import Memory
from letopis.model.facts import Fact
from letopis.server.guard import Refused
from letopis.server.problems import encoded
from letopis.server.workspaces import Opened

Text = Annotated[str, Field(min_length=1, max_length=1_000_000)]
Key = Annotated[str, Field(min_length=1, max_length=500, examples=["telegram:12345"])]
Limit = Annotated[int, Query(ge=1, le=500)]
Cursor = Annotated[int, Query(ge=0, le=1 << 53, description="where to go on; `next` of the page before")]


def _real(day: str | None) -> str | None:
    if day:
        date.fromisoformat(day)
    return day


Day = Annotated[str | None, Query(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_real)]
Match = Annotated[str | None, Header(alias="If-Match", description="the ETag of what you change")]


def memory_of(request: Request) -> Memory:
    """The memory of the workspace that the key leads to."""
    opened: Opened = request.state.opened
    return opened.memory


def told(record: Mapping[str, Any], status: int = 200, etag: str = "") -> Response:
    """An answer as JSON, with its version."""
    headers = {"ETag": etag} if etag else {}
    return Response(encoded(dict(record)), status, headers=headers, media_type="application/json")


def page(items: list[Any], cursor: int, limit: int, name: str) -> dict[str, Any]:
    """One page of a list, and where the next begins."""
    out: dict[str, Any] = {"total": len(items), name: items[cursor : cursor + limit]}
    return out | ({"next": cursor + limit} if cursor + limit < len(items) else {})


def fact_record(fact: Fact) -> dict[str, Any]:
    """A fact as the API gives it."""
    return {"id": fact.id, "text": fact.text, "section": fact.section, "date": fact.date, "sources": list(fact.sources)}


def etag_of(value: object) -> str:
    """The version of what is shown, as an ETag."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return f'"{sha256(text.encode("utf-8", "replace")).hexdigest()[:20]}"'


def check_version(given: str | None, now: str) -> None:
    """An edit names the version that it changes; one that is no longer there changes nothing."""
    if given is None:
        raise Refused(428, "send the ETag of what you change as If-Match, so that no other change is overwritten")
    if given.strip() not in ("*", now):
        raise Refused(412, "it was changed meanwhile; read it again")
