"""`session_history`: read back what was said, word for word."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.lifecycle.lookup import meant, record_of
from letopis.model import secrets, tokens
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


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    within = context.key if context.shared else None
    key = arguments.key or (None if arguments.session_id else context.key)
    line = meant(context.store, arguments.session_id, key, within)
    transcript = context.store.sessions.transcript(line.session_id)
    chosen = [m for m in transcript.messages if m.n >= arguments.start and not m.internal]
    budget = context.store.settings.context_window_tokens // BUDGET_SHARE
    shown: list[Mapping[str, Any]] = []
    for message in chosen[: arguments.limit]:
        item = record_of(message, transcript, LONGEST_MESSAGE)
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


TOOL = Tool(
    "session_history",
    "Read a session back word for word, by session_id, or the newest one under a key (this conversation where "
    "neither is given). The answer begins with the session's index line, which names its summary note.",
    Arguments,
    _run,
)
