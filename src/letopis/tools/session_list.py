"""`session_list`: the sessions there are, newest first."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.lifecycle.lookup import FILTERS, listed
from letopis.tools.registry import Tool, ToolContext


class Arguments(BaseModel):
    """Filters; all that are given must fit."""

    model_config = ConfigDict(extra="ignore")

    session_id: str | None = None
    key: str | None = None
    slug: str | None = Field(None, description="part of the slug")
    memory_path: str | None = Field(None, description="path of the summary note")
    transcript_path: str | None = None
    limit: int = Field(20, ge=1, le=200)
    offset: int = Field(0, ge=0, description="how many to skip; see next_offset")


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    filters = {name: getattr(arguments, name) for name in FILTERS}
    found = listed(context.store, filters, context.key if context.shared else None)
    page = found[arguments.offset : arguments.offset + arguments.limit]
    out: dict[str, Any] = {"status": "ok" if found else "empty", "total": len(found)}
    out["sessions"] = [{**line.record(), "state": line.state} for line in page]
    if arguments.offset + arguments.limit < len(found):
        out["next_offset"] = arguments.offset + arguments.limit
    return out


TOOL = Tool(
    "session_list",
    "List the sessions (conversations) in memory, newest first: live, closing and archived, each with its key, "
    "times, number of messages, transcript and summary note.",
    Arguments,
    _run,
)
