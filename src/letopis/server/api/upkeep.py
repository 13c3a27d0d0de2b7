"""Upkeep by the API: what the doctor finds and mends, and summaries made again."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from letopis import checks
from letopis.errors import Unavailable
from letopis.lifecycle import backlog
from letopis.server.api.forms import memory_of, told
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused

router = APIRouter(prefix="/api", tags=["memory"])


class Again(BaseModel):
    """Which session."""

    session_id: Annotated[str, Field(min_length=4, max_length=64)]


@router.get("/findings")
async def findings(request: Request) -> Response:
    """What is wrong in the workspace, and what mends it."""
    memory = memory_of(request)
    found = await in_thread(checks.examine, memory.store, memory.models)
    return told({"findings": [finding_record(one) for one in found]})


@router.post("/findings/repair")
async def repair(request: Request) -> Response:
    """Mend what can be mended; the bytes that are replaced are kept in the quarantine."""
    memory = memory_of(request)
    outcomes, left = await in_thread(checks.repair, memory.store, memory.models)
    mended = [{"where": one.where, "what": one.what, "outcome": outcome} for one, outcome in outcomes]
    return told({"mended": mended, "left": [finding_record(one) for one in left]})


@router.post("/summaries")
async def summarise(request: Request, given: Again) -> Response:
    """Make the summary of an archived session, and take its facts, where that failed before."""

    def made() -> Mapping[str, Any]:
        memory = memory_of(request)
        line = memory.store.sessions.get(given.session_id)
        if memory.models.background is None:
            raise Unavailable("no model is configured, and summaries are made by one; `letopis config` shows how")
        imported = line.metadata.get("import") is not None
        waiting = backlog.waiting(memory.store, imported, redo=True, session_id=line.session_id)
        if not waiting:
            raise Refused(409, f"session {line.session_id} lacks nothing that a model could make")
        (taken,) = backlog.take(memory.store, memory.models.background, waiting)
        if taken.problem:
            raise Unavailable(taken.problem)
        return {"session_id": line.session_id, "changes": taken.changes, "note": taken.note}

    return told(await in_thread(made))


def finding_record(one: checks.Finding) -> dict[str, Any]:
    """A finding as the API gives it."""
    return {"where": one.where, "what": one.what, "repair": one.remedy, "mendable": one.mend is not None}
