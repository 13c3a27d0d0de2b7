"""Facts by the API: now and at any day, where they come from, told, replaced, removed, and taken back."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from letopis.lifecycle.remember import Known
from letopis.lifecycle.tidy import undo
from letopis.lifecycle.trace import trace
from letopis.memory import Memory
from letopis.model.facts import Fact
from letopis.model.journal import Event
from letopis.server.api.forms import (
    Cursor,
    Day,
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

router = APIRouter(prefix="/api/facts", tags=["memory"])


class NewFact(BaseModel):
    """A fact that a person tells."""

    text: Text = Field(examples=["The report is due on 5 June"])
    section: str = ""


class NewText(BaseModel):
    """What a fact says from now on; it stays in its section."""

    model_config = ConfigDict(extra="forbid")

    text: Text = Field(examples=["The report is due on 8 June"])


class Undo(BaseModel):
    """Which change."""

    event: str = Field(min_length=1, max_length=64, examples=["14e59ef8"])


@router.get("")
async def facts(request: Request, cursor: Cursor = 0, limit: Limit = 100, as_of: Day = None) -> Response:
    """The curated facts, as they are now or as they were at the end of a day."""
    memory = memory_of(request)
    found = await in_thread(lambda: memory.store.facts.as_of(as_of) if as_of else memory.facts())
    records = [fact_record(fact) for fact in found]
    return told(page(records, cursor, limit, "facts"), etag=etag_of(records))


@router.post("", status_code=201)
async def remember(request: Request, fact: NewFact) -> Response:
    """Keep a fact; one that is known already is not doubled."""

    def kept() -> tuple[Mapping[str, Any], int]:
        made = memory_of(request).remember(fact.text, key="http:told", section=fact.section)
        if isinstance(made, Known):
            return {"fact": fact_record(made.fact), "known": True}, 200
        return {"fact": fact_record(made.fact), "known": False, "event": made.event}, 201

    record, status = await in_thread(kept)
    return told(record, status, etag_of(record["fact"]))


@router.get("/{fact_id}")
async def one_fact(request: Request, fact_id: str) -> Response:
    """One fact by its id."""
    record = fact_record(await in_thread(_one, memory_of(request), fact_id))
    return told(record, etag=etag_of(record))


@router.put("/{fact_id}")
async def replace_fact(request: Request, fact_id: str, fact: NewText, if_match: Match = None) -> Response:
    """Put a new text in the place of a fact; say which version you change."""

    def replaced() -> Mapping[str, Any]:
        memory = memory_of(request)
        known = _one(memory, fact_id)
        check_version(if_match, etag_of(fact_record(known)))
        made = memory.replace(known.id, fact.text, expected=known)
        return fact_record(made.fact) | ({} if isinstance(made, Known) else {"event": made.event})

    record = await in_thread(replaced)
    return told(record, etag=etag_of({name: record[name] for name in record if name != "event"}))


@router.delete("/{fact_id}")
async def forget(request: Request, fact_id: str, if_match: Match = None) -> Response:
    """Remove a fact; say which version you remove. `event` takes it back."""

    def removed() -> Mapping[str, Any]:
        memory = memory_of(request)
        known = _one(memory, fact_id)
        check_version(if_match, etag_of(fact_record(known)))
        made = memory.forget(known.id, expected=known)
        return {"removed": fact_record(made.fact), "event": made.event}

    return told(await in_thread(removed))


@router.get("/{fact_id}/history")
async def history(request: Request, fact_id: str) -> Response:
    """Where a fact comes from: its messages, and every change of it; also of one that is gone."""
    found = await in_thread(trace, memory_of(request).store, fact_id)
    events = [{"at": batch.at, "by": batch.by, **event_record(event)} for batch, event in found.events]
    record = {"fact": fact_record(found.fact), "current": found.current, "events": events}
    return told({**record, "sources": [one.record() for one in found.sources], "missing": list(found.missing)})


@router.post("/undo")
async def take_back(request: Request, given: Undo) -> Response:
    """Take one change of the facts back."""
    done = await in_thread(undo, memory_of(request).store, given.event, "person")
    return told({"event": done.id, "op": done.op, "text": done.text})


def event_record(event: Event) -> dict[str, Any]:
    """A change of a fact as the API gives it."""
    before, after = (fact.text if fact else None for fact in (event.before, event.after))
    return {"event": event.id, "op": event.op, "before": before, "after": after, "why": event.why}


def _one(memory: Memory, fact_id: str) -> Fact:
    known = next((fact for fact in memory.facts() if fact.id == fact_id), None)
    if known is None:
        raise Refused(404, f"there is no fact {fact_id[:100]!r}; /api/facts lists those there are")
    return known
