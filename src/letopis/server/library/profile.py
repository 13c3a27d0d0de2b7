"""The profile: `USER.md` whole, with the part that reaches the prompt, and a state for each oddity."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from letopis.errors import LetopisError
from letopis.memory import DEFAULT_KEY, Memory
from letopis.model import edited
from letopis.server.api.profile import LARGEST, version_of
from letopis.server.library.page import shown

router = APIRouter(include_in_schema=False)
_BEGINNING = 20_000


@dataclass(frozen=True, slots=True)
class Profile:
    """`USER.md` as it stands: its state (missing, whole, large, undecodable, unreadable) and its text.

    `seen` is what reaches the prompt, `unseen` what does not; of a large file only the beginning is here.
    """

    state: str
    text: str = ""
    seen: str = ""
    unseen: str = ""
    version: str = ""
    size: int = 0
    at: int = 0
    problem: str = ""


@router.get("/library/profile")
async def profile(request: Request) -> Response:
    """The profile."""

    def view(memory: Memory) -> Mapping[str, Any]:
        return {"place": "profile", "profile": looked_at(memory), "largest": LARGEST}

    return await shown(request, "profile.html", view)


def looked_at(memory: Memory) -> Profile:
    """What there is to say of the profile."""
    try:
        data = memory.store.profile()
    except LetopisError as error:
        return Profile("unreadable", problem=str(error))
    if data is None:
        return Profile("missing", version=version_of(None))
    try:
        text = edited.shown(data.decode())
    except UnicodeDecodeError as error:
        return Profile("undecodable", data.decode("utf-8", "replace")[:_BEGINNING], size=len(data), at=error.start)
    seen = _reaching(memory, text)
    unseen = text[len(seen) :]
    if len(data) > LARGEST:
        return Profile("large", text[:_BEGINNING], seen, unseen, size=len(data))
    return Profile("whole", text, seen, unseen, version_of(data), len(data))


def _reaching(memory: Memory, text: str) -> str:
    """The beginning of the text that stands in the prompt: all of it, but for blanks at the ends, or up to the cut."""
    block = next((one for one in memory.context(DEFAULT_KEY).blocks if one.name == "USER.md"), None)
    if block is None or not block.cut:
        return text
    lead = len(text) - len(text.lstrip())
    same = takewhile(lambda pair: pair[0] == pair[1], zip(text[lead:], block.text, strict=False))
    return text[: lead + sum(1 for _ in same)]
