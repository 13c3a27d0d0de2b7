"""What is known, by the API: search, facts, notes."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from letopis.lifecycle.remember import Known
from letopis.memory import Memory
from letopis.model.facts import Fact
from letopis.server.api.forms import (
    Cursor,
    Limit,
    Match,
    Text,
    check_version,
    etag_of,
    fact_record,
    memory_of,
    page,
    told,
)
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused

router = APIRouter(prefix="/api", tags=["memory"])


class NewFact(BaseModel):
    """A fact that a person tells."""

    text: Text = Field(examples=["The report is due on 5 June"])
    section: str = ""


@router.get("/search")
async def search(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=4_000)],
    scope: Literal["notes", "transcripts", "experience", "all"] = "all",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    key: str | None = None,
    kind: str | None = None,
    since: Annotated[str | None, Query(pattern=r"^\d{4}-\d{2}-\d{2}$")] = None,
    until: Annotated[str | None, Query(pattern=r"^\d{4}-\d{2}-\d{2}$")] = None,
) -> Response:
    """Find what was kept or said."""
    filters = {"key": key, "kind": kind, "since": since, "until": until}
    found = await in_thread(lambda: memory_of(request).search(q, scope=scope, k=limit, **filters))
    return told(found.record())


@router.get("/facts")
async def facts(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The curated facts."""
    found = await in_thread(memory_of(request).facts)
    records = [fact_record(fact) for fact in found]
    return told(page(records, cursor, limit, "facts"), etag=etag_of(records))


@router.post("/facts", status_code=201)
async def remember(request: Request, fact: NewFact) -> Response:
    """Keep a fact; one that is known already is not doubled."""

    def kept() -> tuple[Mapping[str, Any], int]:
        made = memory_of(request).remember(fact.text, key="http:told", section=fact.section)
        if isinstance(made, Known):
            return {"fact": fact_record(made.fact), "known": True}, 200
        return {"fact": fact_record(made.fact), "known": False, "event": made.event}, 201

    record, status = await in_thread(kept)
    return told(record, status, etag_of(record["fact"]))


@router.get("/facts/{fact_id}")
async def one_fact(request: Request, fact_id: str) -> Response:
    """One fact by its id."""
    record = fact_record(await in_thread(_one, memory_of(request), fact_id))
    return told(record, etag=etag_of(record))


@router.put("/facts/{fact_id}")
async def replace_fact(request: Request, fact_id: str, fact: NewFact, if_match: Match = None) -> Response:
    """Put a new text in the place of a fact; say which version you change."""

    def replaced() -> Mapping[str, Any]:
        memory = memory_of(request)
        known = _one(memory, fact_id)
        check_version(if_match, etag_of(fact_record(known)))
        return fact_record(memory.replace(known.id, fact.text).fact)

    record = await in_thread(replaced)
    return told(record, etag=etag_of(record))


@router.delete("/facts/{fact_id}")
async def forget(request: Request, fact_id: str, if_match: Match = None) -> Response:
    """Remove a fact; say which version you remove. `letopis memory undo` takes it back."""

    def removed() -> Mapping[str, Any]:
        memory = memory_of(request)
        known = _one(memory, fact_id)
        check_version(if_match, etag_of(fact_record(known)))
        made = memory.forget(known.id)
        return {"removed": fact_record(made.fact), "event": made.event}

    return told(await in_thread(removed))


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


def _one(memory: Memory, fact_id: str) -> Fact:
    known = next((fact for fact in memory.facts() if fact.id == fact_id), None)
    if known is None:
        raise Refused(404, f"there is no fact {fact_id[:100]!r}; /api/facts lists those there are")
    return known
