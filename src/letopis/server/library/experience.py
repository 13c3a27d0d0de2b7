"""Experience: collections, answers, lessons, the review queue, and how it goes over time."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from letopis.memory import Memory
from letopis.model import desk_figures
from letopis.model.cases import Case
from letopis.model.desk_figures import Period
from letopis.model.text import normalise
from letopis.server.guard import Refused
from letopis.server.library.page import shown

router = APIRouter(include_in_schema=False)
_PAGE = 50
CHART = (640, 220)
Page = Annotated[int, Query(ge=1, le=1 << 40)]


@router.get("/library/experience")
async def experience(
    request: Request,
    collection: Annotated[str, Query(max_length=200)] = "",
    q: Annotated[str, Query(max_length=500)] = "",
    contested: bool = False,
    page: Page = 1,
) -> Response:
    """The collections with their answers."""

    def view(memory: Memory) -> Mapping[str, Any]:
        today = memory.store.clock.now().date().isoformat()
        with memory.store.experience.reading() as bank:
            cases = [c for c in bank.standing(today) if _chosen(c, collection, q, contested)]
            periods = desk_figures.periods(bank)
            found = {"waiting": len(bank.waiting()), "lessons": len(bank.lessons), "names": dict(bank.names)}
            covered = desk_figures.coverage(bank, today)
        own = cases[(page - 1) * _PAGE : page * _PAGE]
        pages = max(1, -(-len(cases) // _PAGE))
        asked = {"collection": collection, "q": q, "contested": contested, "page": page, "pages": pages}
        return {"place": "experience", **found, **asked, "covered": covered, "cases": own, "total": len(cases),
                "periods": periods, "lines": _lines(periods), "chart": CHART}  # fmt: skip

    return await shown(request, "experience.html", view)


@router.get("/library/experience/lessons")
async def lessons(request: Request) -> Response:
    """The lessons, the best founded first."""

    def view(memory: Memory) -> Mapping[str, Any]:
        with memory.store.experience.reading() as bank:
            found = sorted(bank.lessons.values(), key=lambda one: (-one.count, one.at))
            return {"place": "experience", "lessons": found, "names": dict(bank.names)}

    return await shown(request, "lessons.html", view)


@router.get("/library/experience/review")
async def review(request: Request) -> Response:
    """The suggestions that wait for a person, one under the other."""

    def view(memory: Memory) -> Mapping[str, Any]:
        with memory.store.experience.reading() as bank:
            waiting = bank.waiting()[:_PAGE]
            cases = {id_: bank.cases[id_] for one in waiting for id_ in one.cases if id_ in bank.cases}
            return {"place": "experience", "waiting": waiting, "cases": cases, "names": dict(bank.names),
                    "total": len(bank.waiting())}  # fmt: skip

    return await shown(request, "review.html", view)


@router.get("/library/experience/{case_id}")
async def case(request: Request, case_id: str) -> Response:
    """One answer with its wordings, its record, and the wrong answers beside it."""

    def view(memory: Memory) -> Mapping[str, Any]:
        with memory.store.experience.reading() as bank:
            if case_id not in bank.cases:
                raise Refused(404, f"there is no answer {case_id[:100]!r}")
            wrong = [a for a in bank.antipatterns.values() if case_id in (a.wrong_case, a.right_case)]
            own = bank.cases[case_id]
            others = [bank.cases[id_] for id_ in sorted(own.contested) if id_ in bank.cases]
            return {"place": "experience", "case": own, "wrong": wrong, "others": others, "names": dict(bank.names)}

    return await shown(request, "case.html", view)


def _chosen(one: Case, collection: str, words: str, contested: bool) -> bool:
    if collection and one.collection != collection:
        return False
    if contested and not one.contested:
        return False
    text = normalise(" ".join([*one.asked, one.answer])) if words else ""
    return all(word in text for word in normalise(words).split())


def _lines(periods: Sequence[Period]) -> list[tuple[str, str]]:
    """The chart's lines: the class of each and its points."""
    width, height = CHART
    step = width / max(1, len(periods) - 1)
    lines = (("asked", [p.asked for p in periods]), ("repeated", [p.repeated for p in periods]))
    return [
        (name, " ".join(f"{at * step:.1f},{height * (1 - value):.1f}" for at, value in enumerate(values)))
        for name, values in lines
    ]
