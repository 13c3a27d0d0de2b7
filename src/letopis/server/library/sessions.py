"""Conversations: the list, and the reader that loads a transcript by parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from letopis.lifecycle.trace import resting_on
from letopis.memory import Memory
from letopis.model.anchoring import Anchor
from letopis.model.facts import Fact
from letopis.model.goals import Goal
from letopis.model.messages import Message, valid_calls
from letopis.model.session import SessionLine
from letopis.model.text import normalise
from letopis.model.transcript import Transcript
from letopis.server.api.forms import etag_of
from letopis.server.library.page import shown
from letopis.server.library.titles import title_of, titled

router = APIRouter(include_in_schema=False)
PART = 100
_PAGE = 50
Number = Annotated[int, Query(ge=1, le=1 << 53)]


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as the reader shows it, with what stands in its margin."""

    message: Message
    calls: Sequence[Mapping[str, Any]]
    superseded: bool
    silent: bool
    anchors: Sequence[Anchor]
    goals: Sequence[Goal]
    facts: Sequence[Fact]
    borders: Sequence[str]


@router.get("/library/sessions")
async def sessions(
    request: Request,
    q: Annotated[str, Query(max_length=200)] = "",
    state: Literal["", "live", "closing", "archived"] = "",
    page: Number = 1,
) -> Response:
    """The conversations, newest first."""

    def view(memory: Memory) -> Mapping[str, Any]:
        found = [line for line in memory.store.sessions.all() if state in ("", line.state) and _holds(line, q)]
        own = found[(page - 1) * _PAGE : page * _PAGE]
        pages = max(1, -(-len(found) // _PAGE))
        filters = {"q": q, "state": state, "page": page, "pages": pages, "total": len(found)}
        return {"place": "sessions", "sessions": titled(memory, own), **filters}

    return await shown(request, "sessions.html", view)


@router.get("/library/sessions/{session_id}")
async def reader(request: Request, session_id: str, n: Number = 1) -> Response:
    """One conversation, word for word."""
    return await shown(request, "session.html", lambda memory: {"place": "sessions", **_reader(memory, session_id, n)})


@router.get("/library/sessions/{session_id}/part/{part}")
async def part(request: Request, session_id: str, part: int) -> Response:
    """A hundred messages of it."""

    def view(memory: Memory) -> Mapping[str, Any]:
        line, transcript = memory.history(session_id=session_id)
        resting = resting_on(memory.store, line.session_id)
        return {"messages": _part(transcript, max(0, part), resting), "session_id": line.session_id}

    return await shown(request, "_messages.html", view)


def _holds(line: SessionLine, words: str) -> bool:
    text = normalise(f"{line.key} {line.slug} {line.session_id}")
    return all(word in text for word in normalise(words).split())


def _reader(memory: Memory, session_id: str, n: int) -> Mapping[str, Any]:
    line, transcript = memory.history(session_id=session_id)
    count = len(transcript.messages)
    at = next((at for at, m in enumerate(transcript.messages) if m.n >= n), max(0, count - 1))
    resting = resting_on(memory.store, line.session_id)
    goes = list(dict.fromkeys([line.transcript_path, *memory.store.deletions.places_of(line.session_id)]))
    return {
        "line": line,
        "title": title_of(memory, line),
        "count_of_messages": count,
        "parts": -(-count // PART),
        "part": at // PART,
        "size": PART,
        "messages": _part(transcript, at // PART, resting),
        "session_id": line.session_id,
        "goals_now": transcript.goals_at(),
        "damaged": len(transcript.bad),
        "etag": etag_of(line.record()),
        "goes": goes,
        "resting": resting,
    }


def _part(transcript: Transcript, part: int, facts: Sequence[Fact]) -> list[Shown]:
    own = transcript.messages[part * PART : (part + 1) * PART]
    numbers = {message.n for message in own}
    anchors = [anchor for anchor in transcript.anchors if anchor.last in numbers]
    goals = [goal for goal in transcript.goals if goal.n in numbers]
    return [_shown(transcript, message, facts, anchors, goals) for message in own]


def _shown(
    transcript: Transcript, message: Message, facts: Sequence[Fact], anchors: Sequence[Anchor], goals: Sequence[Goal]
) -> Shown:
    n, source = message.n, f"{transcript.session_id}#{message.n}"
    borders = {"folded": transcript.folded_through, "consolidated": transcript.last_consolidated}
    return Shown(
        message=message,
        calls=[call["function"] for call in valid_calls(message)],
        superseded=transcript.is_superseded(n),
        silent=message.internal or message.service or message.role not in ("user", "assistant"),
        anchors=[anchor for anchor in anchors if anchor.last == n],
        goals=[goal for goal in goals if goal.n == n],
        facts=[fact for fact in facts if source in fact.sources],
        borders=[name for name, number in borders.items() if number == n],
    )
