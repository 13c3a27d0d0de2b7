"""The first page: what is known, what happened lately, what the worker does, and what needs a person."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from letopis import checks
from letopis.memory import Memory
from letopis.model.session import SessionLine
from letopis.server.library.page import shown
from letopis.server.library.profile import looked_at
from letopis.server.library.titles import title_of

router = APIRouter(include_in_schema=False)
_LATELY = 12
_FRESH = 30.0  # seconds
_FOUND: WeakKeyDictionary[Memory, tuple[float, list[checks.Finding]]] = WeakKeyDictionary()
_TOLD = ("http:told", "mcp:told", "cli:remember")  # what is told there stands among the facts


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that happened: when, of what kind, what it says, and where it is shown."""

    at: str
    kind: str
    text: str
    address: str
    by: str = ""


@router.get("/")
async def root() -> Response:
    """The address of the server leads to the library."""
    return RedirectResponse("/library", 303)


@router.get("/library")
async def overview(request: Request) -> Response:
    """The first page."""
    step = request.state.opened.worker.step
    return await shown(request, "overview.html", lambda memory: {"place": "overview", "step": step, **_view(memory)})


@router.get("/library/attention")
async def attention(request: Request) -> Response:
    """What the doctor finds: a part of the first page that comes after it, because every file is looked at."""

    def view(memory: Memory) -> Mapping[str, Any]:
        has_model = memory.models.background is not None
        return {"findings": _found_lately(memory), "unseen": memory.unseen() if has_model else 0}

    return await shown(request, "_attention.html", view)


def _found_lately(memory: Memory) -> list[checks.Finding]:
    """What the doctor found; every file is looked at at most twice a minute."""
    known = _FOUND.get(memory)
    if known is None or time.monotonic() - known[0] > _FRESH:
        known = _FOUND[memory] = (time.monotonic(), checks.examine(memory.store, memory.models))
    return known[1]


def _view(memory: Memory) -> Mapping[str, Any]:
    store = memory.store
    lines = store.sessions.all()
    facts = store.facts.view()
    with store.experience.reading() as bank:
        cases, lessons, waiting = len(bank.standing(_today(memory))), len(bank.lessons), len(bank.waiting())
        contested = sum(bool(case.contested) and not case.ended for case in bank.cases.values())
    return {
        "facts": len(facts.facts),
        "notes": len(store.notes.names()),
        "sessions": len(lines),
        "live": sum(line.state == "live" for line in lines),
        "messages": sum(line.message_count for line in lines),
        "cases": cases,
        "lessons": lessons,
        "waiting": waiting,
        "contested": contested,
        "memory_problem": facts.problem,
        "profile": looked_at(memory),
        "has_model": memory.models.chat is not None,
        "lately": _lately(memory, lines),
    }


def _lately(memory: Memory, lines: Sequence[SessionLine]) -> list[Happened]:
    changes = [
        Happened(batch.at, event.op, event.text, f"/library/facts/{event.fact_id}", batch.by)
        for batch in memory.store.facts.batches()[-_LATELY:]
        for event in batch.events
    ]
    talks = [
        Happened(line.updated_at, line.state, title_of(memory, line), f"/library/sessions/{line.session_id}")
        for line in [line for line in lines if line.key not in _TOLD][:_LATELY]
    ]
    return sorted(changes + talks, key=lambda one: one.at, reverse=True)[:_LATELY]


def _today(memory: Memory) -> str:
    return memory.store.clock.now().date().isoformat()
