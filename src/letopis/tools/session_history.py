"""`session_history`: read back what was said, word for word."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.errors import SessionNotFound
from letopis.model import secrets, tokens
from letopis.model.messages import Message, valid_calls
from letopis.model.session import SessionLine
from letopis.model.text import shorten
from letopis.model.transcript import Transcript
from letopis.store import Store
from letopis.tools.registry import NOTICE, Tool, ToolContext

BUDGET_SHARE = 6
LONGEST_MESSAGE = 4_000


class Arguments(BaseModel):
    """Which session, and from which message on."""

    model_config = ConfigDict(extra="ignore")

    session_id: str | None = Field(None, description="as session_list and search hits name it")
    key: str | None = Field(None, description="instead of session_id: the newest session under this key")
    start: int = Field(1, ge=1, description="number of the first message; see next_start")
    limit: int = Field(50, ge=1, le=500)


def meant(store: Store, session_id: str | None, key: str | None, within: str | None) -> SessionLine:
    """The session meant by an id, or the newest under a key. Raises SessionNotFound."""
    lines = [s for s in store.sessions.all() if within is None or s.key == within]
    lines.sort(key=lambda line: line.state != "live")
    for line in lines:
        if line.session_id == session_id if session_id else key in (None, line.key):
            return line
    what = f"no session {session_id!r}" if session_id else f"no session under the key {key!r}"
    raise SessionNotFound(f"{what}; session_list shows those there are")


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    within = context.key if context.shared else None
    key = arguments.key or (None if arguments.session_id else context.key)
    line = meant(context.store, arguments.session_id, key, within)
    transcript = context.store.sessions.transcript(line.session_id)
    chosen = [m for m in transcript.messages if m.n >= arguments.start and not m.internal]
    budget = context.store.settings.context_window_tokens // BUDGET_SHARE
    shown: list[Mapping[str, Any]] = []
    for message in chosen[: arguments.limit]:
        item = record(message, transcript, LONGEST_MESSAGE)
        budget -= tokens.estimate(item["text"]) + 20
        if budget < 0 and shown:
            break
        shown.append({**item, "text": secrets.redact(item["text"])})
    out: dict[str, Any] = {"status": "ok" if shown else "empty", "notice": NOTICE}
    out["session"] = {**line.record(), "state": line.state}
    out["messages"] = shown
    if len(shown) < len(chosen):
        out["next_start"] = chosen[len(shown)].n
    return out


def record(message: Message, transcript: Transcript, longest: int | None = None) -> dict[str, Any]:
    """A message as it is read back; a cut is marked with how much is left out."""
    text = message.text
    if longest is not None and len(text) > longest:
        text = shorten(text, longest, "") + f" … [cut: {len(text) - longest} more characters]"
    out: dict[str, Any] = {"n": message.n, "role": message.role, "timestamp": message.timestamp, "text": text}
    calls = [call["function"] for call in valid_calls(message)]
    if calls:
        out["tool_calls"] = calls
    if transcript.is_superseded(message.n):
        out["superseded"] = True
    return out


TOOL = Tool(
    "session_history",
    "Read a session back word for word, by session_id, or the newest one under a key (this conversation where "
    "neither is given). The answer begins with the session's index line, which names its summary note.",
    Arguments,
    _run,
)
