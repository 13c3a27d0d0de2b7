"""`history_search`: find what was said earlier in this conversation, exactly, by its words."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.short_term import look_up
from letopis.tools.registry import NOTICE, Tool, ToolContext

BUDGET_SHARE = 8


class Arguments(BaseModel):
    """What to look for."""

    model_config = ConfigDict(extra="ignore")

    words: str = Field(description="a few words that the passage holds, in the language it was said in")


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    budget = context.store.settings.context_window_tokens // BUDGET_SHARE
    found = look_up(context.store, context.index, context.session_id, arguments.words, budget, context.n)
    out: dict[str, Any] = {"status": "ok" if found.lines else "empty", "notice": NOTICE}
    out |= {"lines": [asdict(line) for line in found.lines], "showing": len(found.lines), "total": found.total}
    if found.lines and not found.every:
        out["relaxed"] = True
    return out


TOOL = Tool(
    "history_search",
    "Find what was said earlier in this conversation, word for word, with its number and time: prices, dates, names, "
    "figures that are no longer in sight. Newest first; of two values the newer one holds.",
    Arguments,
    _run,
    here=True,
)
