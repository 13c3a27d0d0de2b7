"""Experience by the API: suggestions, cases, reviews."""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from letopis.experience.add import Added, add
from letopis.server.api.forms import Cursor, Limit, Text, memory_of, page, told
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused

router = APIRouter(prefix="/api/experience", tags=["memory"])


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


class Ending(BaseModel):
    """Why a case is not right any more."""

    why: str = Field("ended by a person", max_length=2_000)


class Review(BaseModel):
    """What a person says of a suggestion."""

    outcome: Literal["approved", "edited", "rejected"]
    right_answer: str = ""
    note: str = ""
    reviewer: str = Field("api", min_length=1, max_length=200)


@router.post("/suggest")
async def suggest(request: Request, asking: Asking) -> Response:
    """The answer that experience suggests, kept for review."""
    memory = memory_of(request)
    found = await in_thread(lambda: memory.suggest(asking.question, collection=asking.collection))
    return told(found.record())


@router.post("/cases", status_code=201)
async def new_case(request: Request, case: NewCase) -> Response:
    """Keep a question with its right answer."""

    def kept() -> tuple[Mapping[str, Any], int]:
        made = add(memory_of(request).desk, case.question, case.answer, case.collection, valid_until=case.valid_until)
        conflicts = [other.record() for other in made.conflicts] if isinstance(made, Added) else []
        record = {"case": made.case.record(), "known": not isinstance(made, Added), "contradicts": conflicts}
        return record, 201 if isinstance(made, Added) else 200

    return told(*await in_thread(kept))


@router.get("/cases")
async def cases(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The cases that may be suggested."""

    def read() -> list[Any]:
        store = memory_of(request).store
        with store.experience.reading() as bank:
            return [case.record() for case in bank.standing(store.clock.now().date().isoformat())]

    return told(page(await in_thread(read), cursor, limit, "cases"))


@router.post("/cases/{case_id}/end")
async def end(request: Request, case_id: str, given: Ending) -> Response:
    """Take a case out of suggestions; it stays readable."""

    def ended() -> Mapping[str, Any]:
        store = memory_of(request).store
        with store.experience.reading() as bank:
            known = bank.cases.get(case_id)
        if known is None:
            raise Refused(404, f"there is no case {case_id[:100]!r}; /api/experience/cases lists those there are")
        store.experience.append(known.collection, [{"_type": "ended", "case": known.id, "why": given.why}])
        return {"case": known.id, "ended": given.why}

    return told(await in_thread(ended))


@router.get("/waiting")
async def waiting(request: Request, cursor: Cursor = 0, limit: Limit = 100) -> Response:
    """The suggestions that a person should look at."""

    def read() -> list[Any]:
        with memory_of(request).store.experience.reading() as bank:
            return [one.record() for one in bank.waiting()]

    return told(page(await in_thread(read), cursor, limit, "waiting"))


@router.post("/suggestions/{suggestion}/review")
async def review(request: Request, suggestion: str, given: Review) -> Response:
    """Say whether a suggestion was right."""

    def reviewed() -> Mapping[str, Any]:
        made = memory_of(request).review(
            suggestion, given.outcome, given.right_answer, note=given.note, reviewer=given.reviewer
        )
        case, lesson = made.case, made.lesson
        record = {"outcome": made.outcome, "repeated": made.repeated}
        return {**record, "case": case.record() if case else None, "lesson": lesson.record() if lesson else None}

    return told(await in_thread(reviewed))
