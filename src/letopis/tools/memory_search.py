"""`memory_search`: find what was kept or said, by words."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from letopis.model.search import Query
from letopis.tools.registry import NOTICE, Tool, ToolContext, affordable

BUDGET_SHARE = 8


class Arguments(BaseModel):
    """What to look for, and where."""

    model_config = ConfigDict(extra="ignore")

    query: str = Field(description="a question or words, in any language; quotes ask for the exact phrase")
    scope: Literal["notes", "transcripts", "experience", "all"] = Field(
        "notes",
        description="notes: facts, summaries, notes; transcripts: every message; experience: questions answered; all",
    )
    limit: int = Field(8, ge=1, le=50, description="how many hits")
    key: str | None = Field(None, description="only conversations under this key")
    since: str | None = Field(None, description="not older than this day, YYYY-MM-DD")
    until: str | None = Field(None, description="not newer than this day, YYYY-MM-DD")


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    query = Query(
        arguments.query,
        arguments.scope,
        arguments.limit,
        key=arguments.key,
        since=arguments.since,
        until=arguments.until,
        within=context.key if context.shared else None,
        exclude=f"{context.session_id}#{context.n}" if context.session_id else None,
    )
    found = dict(context.index.search(query).record())
    budget = context.store.settings.context_window_tokens // BUDGET_SHARE
    hits = affordable(found["hits"], budget)
    found |= {"hits": hits, "showing": len(hits), "notice": NOTICE}
    if found["status"] == "empty" and arguments.scope == "notes":
        found["hint"] = "nothing in the notes; scope 'transcripts' searches every message that was said"
    return found


TOOL = Tool(
    "memory_search",
    "Search the long-term memory: facts, notes, summaries of earlier sessions, and with scope 'transcripts' or "
    "'all' every message ever said. Each hit names its source; session_history reads around it. Use it before "
    "saying that you do not know something about the user or about earlier conversations.",
    Arguments,
    _run,
)
