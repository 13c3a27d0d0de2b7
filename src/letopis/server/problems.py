"""Errors as `application/problem+json`: what happened, to which thing, and what to do next."""

import json
from typing import Any

from letopis.errors import (
    Busy,
    FactChanged,
    FactRefused,
    IndexBusy,
    InvalidInput,
    LetopisError,
    ModelError,
    NoSingleMatch,
    OutsideWorkspace,
    SessionArchived,
    SessionNotFound,
    Unavailable,
    Unreadable,
    WorkspaceError,
    WriteFailed,
)

# the first class that fits counts
STATUSES: tuple[tuple[type[LetopisError], int], ...] = (
    (NoSingleMatch, 409),
    (FactChanged, 412),
    (FactRefused, 422),
    (SessionNotFound, 404),
    (SessionArchived, 409),
    (InvalidInput, 422),
    (OutsideWorkspace, 404),
    (Busy, 503),
    (IndexBusy, 503),
    (Unreadable, 500),
    (WriteFailed, 507),
    (Unavailable, 503),
    (ModelError, 502),
    (WorkspaceError, 400),
)
TITLES = {
    400: "The request cannot be understood",
    401: "A key is needed",
    403: "This is not allowed",
    404: "There is no such thing",
    405: "This is not done here",
    408: "The request came too slowly",
    409: "It does not fit what is there",
    412: "It was changed meanwhile",
    413: "The request is too large",
    415: "Only application/json is taken",
    421: "This server does not answer for that name",
    422: "The request cannot be carried out as it is",
    428: "Say which version you change",
    429: "Too much at once",
    500: "Something is wrong here",
    502: "The model gave no answer",
    503: "Busy; try again",
    507: "The disk refused the write",
}


def problem(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """The body of an error."""
    return {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail, **more}


def status_of(error: LetopisError) -> int:
    """The HTTP status of an error of the core."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def encoded(body: dict[str, Any]) -> bytes:
    """The body as it is sent: whatever it quotes is valid UTF-8."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
