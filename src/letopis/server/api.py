"""The HTTP API: one call of the library a route."""

import json
from collections.abc import AsyncIterator, Mapping
from hashlib import sha256
from typing import Annotated, Any, Literal

import anyio
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, Field

from letopis.errors import InvalidInput
from letopis.experience.add import Added, add
from letopis.lifecycle.lookup import record_of
from letopis.lifecycle.remember import Known
from letopis.memory import Memory
from letopis.model.facts import Fact
from letopis.model.messages import ROLES
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused
from letopis.server.problems import encoded
from letopis.server.workspaces import Opened

router = APIRouter(prefix="/api", tags=["memory"])
Text = Annotated[str, Field(min_length=1, max_length=1_000_000)]
Key = Annotated[str, Field(min_length=1, max_length=500, examples=["telegram:12345"])]
Limit = Annotated[int, Query(ge=1, le=500)]
Cursor = Annotated[int, Query(ge=0, le=1 << 53, description="where to go on; `next` of the page before")]
Match = Annotated[str | None, Header(alias="If-Match", description="the ETag of what you change")]
_LOOK_EVERY = 1.0


class NewMessage(BaseModel):
    """A message of a conversation, in OpenAI chat form."""

    key: Key
    role: Literal[ROLES]  # type: ignore[valid-type]
    content: str | list[dict[str, Any]] | None = Field(examples=["The deadline is on 12 May."])
    id: str | None = Field(None, description="a repeated id is stored once")
    name: str | None = None
    session_id: str | None = None


class NewFact(BaseModel):
    """A fact that a person tells."""

    text: Text = Field(examples=["The report is due on 5 June"])
    section: str = ""


class Asking(BaseModel):
    """A question to experience."""

    question: Text = Field(examples=["How do I return a jacket?"])
    collection: str | None = None


class NewCase(BaseModel):
    """A question with its right answer."""

    question: Text
    answer: Text
    collection: str | None = None
    valid_until: str = Field("", pattern=r"^(\d{4}-\d{2}-\d{2})?$")


class Review(BaseModel):
    """What a person says of a suggestion."""

    outcome: Literal["approved", "edited", "rejected"]
    right_answer: str = ""
    note: str = ""
    reviewer: str = Field("api", min_length=1, max_length=200)


def _memory(request: Request) -> Memory:
    opened: Opened = request.state.opened
    return opened.memory


def _told(record: Mapping[str, Any], status: int = 200, etag: str = "") -> Response:
    headers = {"ETag": etag} if etag else {}
    return Response(encoded(dict(record)), status, headers=headers, media_type="application/json")


def _page(items: list[Any], cursor: int, limit: int, name: str) -> dict[str, Any]:
    out: dict[str, Any] = {"total": len(items), name: items[cursor : cursor + limit]}
    return out | ({"next": cursor + limit} if cursor + limit < len(items) else {})


# --- conversations ------------------------------------------------------------------------------


@router.post("/messages", status_code=201)
async def append(request: Request, message: NewMessage) -> Response:
    """Keep a message; it is on disk when the answer comes."""
    wire = {k: v for k, v in message.model_dump().items() if k in ("role", "content", "id", "name") and v is not None}

    def stored() -> Mapping[str, Any]:
        made = _memory(request).append(message.key, wire, session_id=message.session_id)
        return {"session_id": made.session_id, "n": made.n, "new": made.new}

    return _told(await in_thread(stored), 201)


@router.get("/sessions")
async def sessions(
    request: Request, cursor: Cursor = 0, limit: Limit = 50, key: str | None = None, slug: str | None = None
) -> Response:
    """The conversations, newest first."""
    found = await in_thread(lambda: _memory(request).sessions(key=key, slug=slug))
    return _told(_page([{**line.record(), "state": line.state} for line in found], cursor, limit, "sessions"))


@router.get("/sessions/{session_id}")
async def history(
    request: Request, session_id: str, start: Annotated[int, Query(ge=1, le=1 << 53)] = 1, limit: Limit = 100
) -> Response:
    """A conversation, word for word, from a message on."""

    def read() -> Mapping[str, Any]:
        line, transcript = _memory(request).history(session_id=session_id)
        chosen = [m for m in transcript.messages if m.n >= start and not m.internal]
        out: dict[str, Any] = {"session": {**line.record(), "state": line.state}}
        out["messages"] = [record_of(m, transcript) for m in chosen[:limit]]
        return out | ({"next": chosen[limit].n} if len(chosen) > limit else {})

    return _told(await in_thread(read))


@router.delete("/sessions/{session_id}")
async def delete(request: Request, session_id: str, if_match: Match = None) -> Response:
    """Delete a conversation for good: transcript, notes and index line."""

    def deleted() -> Mapping[str, Any]:
        memory = _memory(request)
        line = memory.store.sessions.get(session_id)
        _check_version(if_match, _etag(line.record()))
        _, paths = memory.store.delete_session(line.session_id)
        return {"session_id": line.session_id, "removed": paths}

    return _told(await in_thread(deleted))


@router.post("/close")
async def close(request: Request, given: dict[str, Any]) -> Response:
    """End the live conversation of a key, at once; facts, summary and archive follow."""
    key = given.get("key")
    if not isinstance(key, str) or not key.strip():
        raise InvalidInput("the body must be an object with the key of a conversation, such as telegram:12345")
    session_id = await in_thread(_memory(request).close, key)
    opened: Opened = request.state.opened
    opened.worker.notify()
    return _told({"session_id": session_id})


@router.get("/context")
async def context(request: Request, key: Annotated[str, Query(min_length=1)]) -> Response:
    """What the next prompt of a conversation is made of, and the prompt itself."""

    def read() -> Mapping[str, Any]:
        prompt = _memory(request).context(key)
        blocks = [
            {"name": b.name, "tokens": b.tokens, "cap": b.cap, "cut": b.cut, "problem": b.problem}
            for b in prompt.blocks
        ]
        sizes = {"tokens": prompt.tokens, "budget": prompt.budget, "window": prompt.window}
        return {**sizes, "blocks": blocks, "messages": prompt.messages}

    return _told(await in_thread(read))


# --- what is known ------------------------------------------------------------------------------


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
    found = await in_thread(lambda: _memory(request).search(q, scope=scope, k=limit, **filters))
    return _told(found.record())


@router.get("/facts")
async def facts(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The curated facts."""
    found = await in_thread(_memory(request).facts)
    records = [_fact(fact) for fact in found]
    return _told(_page(records, cursor, limit, "facts"), etag=_etag(records))


@router.post("/facts", status_code=201)
async def remember(request: Request, fact: NewFact) -> Response:
    """Keep a fact; one that is known already is not doubled."""

    def kept() -> tuple[Mapping[str, Any], int]:
        made = _memory(request).remember(fact.text, key="http:told", section=fact.section)
        if isinstance(made, Known):
            return {"fact": _fact(made.fact), "known": True}, 200
        return {"fact": _fact(made.fact), "known": False, "event": made.event}, 201

    record, status = await in_thread(kept)
    return _told(record, status, _etag(record["fact"]))


@router.get("/facts/{fact_id}")
async def one_fact(request: Request, fact_id: str) -> Response:
    """One fact by its id."""
    record = _fact(await in_thread(_one, _memory(request), fact_id))
    return _told(record, etag=_etag(record))


@router.put("/facts/{fact_id}")
async def replace_fact(request: Request, fact_id: str, fact: NewFact, if_match: Match = None) -> Response:
    """Put a new text in the place of a fact; say which version you change."""

    def replaced() -> Mapping[str, Any]:
        memory = _memory(request)
        known = _one(memory, fact_id)
        _check_version(if_match, _etag(_fact(known)))
        return _fact(memory.replace(known.id, fact.text).fact)

    record = await in_thread(replaced)
    return _told(record, etag=_etag(record))


@router.delete("/facts/{fact_id}")
async def forget(request: Request, fact_id: str, if_match: Match = None) -> Response:
    """Remove a fact; say which version you remove. `letopis memory undo` takes it back."""

    def removed() -> Mapping[str, Any]:
        memory = _memory(request)
        known = _one(memory, fact_id)
        _check_version(if_match, _etag(_fact(known)))
        made = memory.forget(known.id)
        return {"removed": _fact(made.fact), "event": made.event}

    return _told(await in_thread(removed))


@router.get("/notes")
async def notes(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The names of the notes."""
    return _told(_page(await in_thread(_memory(request).store.notes.names), cursor, limit, "notes"))


@router.get("/notes/{name:path}")
async def note(request: Request, name: str) -> Response:
    """The text of a note."""

    def read() -> str:
        store = _memory(request).store
        text = store.notes.read(name) if name in store.notes.names() else None
        if text is None:
            raise Refused(404, f"there is no note {name[:200]!r}; /api/notes lists those there are")
        return text

    text = await in_thread(read)
    return _told({"name": name, "text": text}, etag=_etag(text))


# --- experience ---------------------------------------------------------------------------------


@router.post("/experience/suggest")
async def suggest(request: Request, asking: Asking) -> Response:
    """The answer that experience suggests, kept for review."""
    memory = _memory(request)
    found = await in_thread(lambda: memory.suggest(asking.question, collection=asking.collection))
    return _told(found.record())


@router.post("/experience/cases", status_code=201)
async def new_case(request: Request, case: NewCase) -> Response:
    """Keep a question with its right answer."""

    def kept() -> tuple[Mapping[str, Any], int]:
        made = add(_memory(request).desk, case.question, case.answer, case.collection, valid_until=case.valid_until)
        conflicts = [other.record() for other in made.conflicts] if isinstance(made, Added) else []
        record = {"case": made.case.record(), "known": not isinstance(made, Added), "contradicts": conflicts}
        return record, 201 if isinstance(made, Added) else 200

    return _told(*await in_thread(kept))


@router.get("/experience/cases")
async def cases(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The cases that may be suggested."""

    def read() -> list[Any]:
        store = _memory(request).store
        with store.experience.reading() as bank:
            return [case.record() for case in bank.standing(store.clock.now().date().isoformat())]

    return _told(_page(await in_thread(read), cursor, limit, "cases"))


@router.get("/experience/waiting")
async def waiting(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The suggestions that a person should look at."""

    def read() -> list[Any]:
        with _memory(request).store.experience.reading() as bank:
            return [one.record() for one in bank.waiting()]

    return _told(_page(await in_thread(read), cursor, limit, "waiting"))


@router.post("/experience/suggestions/{suggestion}/review")
async def review(request: Request, suggestion: str, given: Review) -> Response:
    """Say whether a suggestion was right."""

    def reviewed() -> Mapping[str, Any]:
        made = _memory(request).review(
            suggestion, given.outcome, given.right_answer, note=given.note, reviewer=given.reviewer
        )
        case, lesson = made.case, made.lesson
        record = {"outcome": made.outcome, "repeated": made.repeated}
        return {**record, "case": case.record() if case else None, "lesson": lesson.record() if lesson else None}

    return _told(await in_thread(reviewed))


# --- the server itself --------------------------------------------------------------------------


@router.get("/status")
async def status(request: Request) -> Response:
    """What is in the workspace and what waits."""

    def read() -> Mapping[str, Any]:
        memory, opened = _memory(request), request.state.opened
        lines = memory.store.sessions.all()
        states = {name: sum(line.state == name for line in lines) for name in ("live", "closing", "archived")}
        view = memory.store.facts.view()
        return {
            "model": memory.store.settings.model.name or None, "sessions": states, "facts": len(view.facts),
            "messages": sum(line.message_count for line in lines), "memory_problem": view.problem,
            "worker": opened.worker.step, "due": memory.due(),
        }  # fmt: skip

    return _told(await in_thread(read))


@router.get("/events", response_class=StreamingResponse)
async def events(request: Request) -> StreamingResponse:
    """What the worker does, as server-sent events, from now on."""
    opened: Opened = request.state.opened
    last = opened.events[-1][0] if opened.events else 0

    async def lines() -> AsyncIterator[bytes]:
        seen, step = last, ""
        yield b": what the worker does\n\n"
        while not await request.is_disconnected():
            for number, record in [one for one in list(opened.events) if one[0] > seen]:
                seen = number
                yield f"id: {number}\nevent: {record['event']}\ndata: {json.dumps(record)}\n\n".encode()
            if opened.worker.step != step:
                step = opened.worker.step
                yield f"event: step\ndata: {json.dumps({'step': step})}\n\n".encode()
            await anyio.sleep(_LOOK_EVERY)

    return StreamingResponse(lines(), media_type="text/event-stream")


def _fact(fact: Fact) -> dict[str, Any]:
    return {"id": fact.id, "text": fact.text, "section": fact.section, "date": fact.date, "sources": list(fact.sources)}


def _one(memory: Memory, fact_id: str) -> Fact:
    known = next((fact for fact in memory.facts() if fact.id == fact_id), None)
    if known is None:
        raise Refused(404, f"there is no fact {fact_id[:100]!r}; /api/facts lists those there are")
    return known


def _etag(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return f'"{sha256(text.encode("utf-8", "replace")).hexdigest()[:20]}"'


def _check_version(given: str | None, now: str) -> None:
    """An edit names the version that it changes; one that is no longer there changes nothing."""
    if given is None:
        raise Refused(428, "send the ETag of what you change as If-Match, so that no other change is overwritten")
    if given.strip() not in ("*", now):
        raise Refused(412, "it was changed meanwhile; read it again")
