"""The profile (USER.md) by the API: read with its version, and edited against that version."""

import hashlib

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from letopis.errors import InvalidInput
from letopis.memory import Memory
from letopis.model import edited
from letopis.server.api.forms import Match, check_version, memory_of, told
from letopis.server.crossing import in_thread
from letopis.server.guard import Refused

router = APIRouter(prefix="/api/profile", tags=["memory"])
LARGEST = 1 << 20


class NewProfile(BaseModel):
    """The whole text."""

    text: str = Field(max_length=LARGEST, examples=["# About me\n\nI live in Kazan."])


def version_of(data: bytes | None) -> str:
    """The version of the file's bytes, as an ETag."""
    return f'"{hashlib.sha256(data or b"").hexdigest()[:20]}"'


@router.get("")
async def read(request: Request) -> Response:
    """What stands in USER.md."""

    def found() -> tuple[str, str]:
        data = memory_of(request).store.profile()
        return edited.shown(_decoded(data)), version_of(data)

    text, version = await in_thread(found)
    return told({"text": text}, etag=version)


@router.put("")
async def write(request: Request, given: NewProfile, if_match: Match = None) -> Response:
    """Put an edited text in place; bytes of lines that were not touched stay as they are."""

    def changed() -> tuple[str, str]:
        return _write(memory_of(request), given.text, if_match)

    text, version = await in_thread(changed)
    return told({"text": text}, etag=version)


def _write(memory: Memory, text: str, given: str | None) -> tuple[str, str]:
    before = memory.store.profile()
    check_version(given, version_of(before))
    if before is not None and len(before) > LARGEST:
        raise InvalidInput(f"USER.md has {len(before)} bytes; more than {LARGEST} are edited in an editor only")
    data = edited.applied(_decoded(before), text).encode("utf-8", "replace")
    if len(data) > LARGEST:
        raise InvalidInput(f"USER.md may have {LARGEST} bytes here; this text has {len(data)}")
    if data != before and not memory.store.write_profile(data, before):
        raise Refused(412, "it was changed meanwhile; read it again")
    return edited.shown(data.decode()), version_of(data)


def _decoded(data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"USER.md is not UTF-8 at byte {error.start}; save it as UTF-8 in an editor") from None
