"""The facts: by section, as they are or as they were, and where each comes from."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from letopis.errors import NoSingleMatch
from letopis.lifecycle.trace import trace
from letopis.memory import Memory
from letopis.model.facts import Fact
from letopis.server.api.facts import event_record
from letopis.server.api.forms import Day, etag_of, fact_record
from letopis.server.guard import Refused
from letopis.server.library.page import shown

router = APIRouter(include_in_schema=False)


@router.get("/library/facts")
async def facts(request: Request, as_of: Day = None) -> Response:
    """All facts."""

    def view(memory: Memory) -> Mapping[str, Any]:
        now = memory.store.facts.view()
        then = memory.store.facts.as_of(as_of) if as_of else list(now.facts)
        days = sorted({batch.at[:10] for batch in memory.store.facts.batches() if batch.events})
        today = memory.store.clock.now().date().isoformat()
        standing = {fact.id: fact.text for fact in now.facts}
        return {
            "place": "facts",
            "sections": _sections(then),
            "total": len(then),
            "as_of": as_of,
            "days": [*(day for day in days if day < today), today],
            "standing": standing if as_of else None,
            "problem": now.problem,
            "etag": _etag,
        }

    return await shown(request, "facts.html", view)


@router.get("/library/facts/{fact_id}")
async def fact(request: Request, fact_id: str) -> Response:
    """One fact with its sources and changes."""

    def view(memory: Memory) -> Mapping[str, Any]:
        try:
            found = trace(memory.store, fact_id)
        except NoSingleMatch:
            raise Refused(404, f"there is no fact {fact_id[:100]!r}") from None
        events = [{"at": batch.at, "by": batch.by, **event_record(event)} for batch, event in reversed(found.events)]
        undone = {event.undoes for _, event in found.events}
        last = next((e.id for _, e in reversed(found.events) if e.id not in undone and not e.undoes), "")
        return {"place": "facts", "found": found, "events": events, "last": last, "etag": _etag(found.fact)}

    return await shown(request, "fact.html", view)


def _sections(facts: Sequence[Fact]) -> list[tuple[str, list[Fact]]]:
    """The facts under their headings, in the order in which these come first."""
    found: dict[str, list[Fact]] = {}
    for one in facts:
        found.setdefault(one.section, []).append(one)
    return list(found.items())


def _etag(one: Fact) -> str:
    return etag_of(fact_record(one))
