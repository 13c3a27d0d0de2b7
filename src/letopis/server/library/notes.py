"""The notes: by month with a calendar, by kind, and each one rendered."""

import calendar
import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from letopis.errors import LetopisError
from letopis.memory import Memory
from letopis.model.session import SessionLine
from letopis.server.guard import Refused
from letopis.server.library.page import language_of, shown
from letopis.server.library.titles import first_heading, kind_of, sessions_of_notes, title_of
from letopis.server.library.words import WEEK

router = APIRouter(include_in_schema=False)
Month = Annotated[str | None, Query(pattern=r"^\d{4}-\d{2}$")]
Kind = Literal["", "fact", "archived", "summary", "raw", "daily", "digest", "note"]
KINDS = ("summary", "daily", "digest", "raw", "archived", "note")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})")
Named = tuple[str, str, str]  # name, kind, day
_MOST = 300
_HEADER = re.compile(r"^- \**(?:Session ID|Session Key|Ended At|Transcript|Session Index)\**:.*\n?", re.MULTILINE)
_LINK = re.compile(r"\]\((?:\.\./)+(sessions/[^)\s\]]{1,300})\)")


@router.get("/library/notes")
async def notes(request: Request, month: Month = None, kind: Kind = "") -> Response:
    """The notes of one month, and those without a date."""
    week = WEEK[language_of(request)]
    return await shown(
        request, "notes.html", lambda memory: {"place": "notes", "week": week, **_month(memory, month, kind)}
    )


@router.get("/library/notes/{name:path}")
async def note(request: Request, name: str) -> Response:
    """One note."""

    def view(memory: Memory) -> Mapping[str, Any]:
        if name not in memory.store.notes.names(raw=True):
            raise Refused(404, f"there is no note {name[:200]!r}")
        return {"place": "notes", **_note(memory, name)}

    return await shown(request, "note.html", view)


def _month(memory: Memory, month: str | None, kind: str) -> Mapping[str, Any]:
    of_sessions = sessions_of_notes(memory.store.sessions.all())
    every = [(name, kind_of(name, of_sessions), _day_of(name)) for name in memory.store.notes.names(raw=True)]
    every = [one for one in every if kind in ("", one[1]) and one[1] != "fact"]
    months = sorted({day[:7] for _, _, day in every if day})
    chosen = month or (months[-1] if months else "")
    own = [one for one in every if one[2][:7] == chosen] if chosen else []
    counts: dict[str, int] = {}
    for _, _, day in own:
        counts[day] = counts.get(day, 0) + 1
    at = months.index(chosen) if chosen in months else -1
    undated = [one for one in every if not one[2]]
    return {
        "chosen": chosen,
        "before": months[at - 1] if at > 0 else "",
        "after": months[at + 1] if 0 <= at < len(months) - 1 else "",
        "days": _by_day(memory, own, of_sessions),
        "undated": [_listed(memory, one, of_sessions) for one in undated[:_MOST]],
        "undated_total": len(undated),
        "weeks": _weeks(chosen, counts),
        "kind": kind,
        "kinds": KINDS,
    }  # fmt: skip


def _by_day(
    memory: Memory, own: list[Named], of_sessions: Mapping[str, SessionLine]
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The notes of a month under their days, newest first; of very many only the first are opened for their titles."""
    days: dict[str, list[Mapping[str, Any]]] = {}
    for at, one in enumerate(sorted(own, key=lambda one: one[2], reverse=True)):
        days.setdefault(one[2], []).append(_listed(memory, one, of_sessions, opened=at < _MOST))
    return list(days.items())


def _weeks(month: str, counts: Mapping[str, int]) -> list[list[tuple[int, int, str]]]:
    """The month as a calendar: for each day its number (0 outside the month), how many notes, and its ISO day."""
    if not month or not 1 <= int(month[5:]) <= 12:
        return []
    year, number = int(month[:4]), int(month[5:])
    rows = calendar.Calendar().monthdayscalendar(max(1, year), number)
    return [[(d, counts.get(f"{month}-{d:02}", 0), f"{month}-{d:02}") for d in row] for row in rows]


def _day_of(name: str) -> str:
    found = _DAY.match(name.rpartition("/")[2])
    try:
        return date.fromisoformat(found[1]).isoformat() if found else ""
    except ValueError:
        return ""


def _listed(
    memory: Memory, one: Named, of_sessions: Mapping[str, SessionLine], opened: bool = True
) -> Mapping[str, Any]:
    name, kind, day = one
    try:
        title = first_heading(memory.store.notes.read(name) or "") if opened else ""
    except LetopisError:
        title = ""
    bare = name.rpartition("/")[2].removesuffix(".md")
    title = title if title and kind != "daily" else bare
    return {"name": name, "kind": kind, "day": day, "title": title, "session": of_sessions.get(name)}


def _note(memory: Memory, name: str) -> Mapping[str, Any]:
    lines = memory.store.sessions.all()
    of_sessions = sessions_of_notes(lines)
    line = of_sessions.get(name)
    problem, text = "", ""
    try:
        text = memory.store.notes.read(name) or ""
    except LetopisError as error:
        problem = str(error)
    by_path = {other.transcript_path: other.session_id for other in lines}

    def to_reader(found: re.Match[str]) -> str:
        session = by_path.get(found[1])
        return f"](/library/sessions/{session})" if session else found[0]

    return {
        "name": name,
        "title": first_heading(text) or name.rpartition("/")[2],
        "text": _without_heading(_LINK.sub(to_reader, text)),
        "source": text,
        "kind": kind_of(name, of_sessions),
        "day_of_note": _day_of(name),
        "session": line,
        "session_title": title_of(memory, line) if line else "",
        "problem": problem,
    }


def _without_heading(text: str) -> str:
    """The text without its title and the lines about its session, which the page shows in its own words."""
    first, _, rest = text.partition("\n")
    return _HEADER.sub("", rest if first.startswith("# ") else text)
