"""`research`: evidence for a question that one look-up cannot answer."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.lifecycle.research import research
from letopis.tools.registry import NOTICE, Tool, ToolContext, affordable

BUDGET_SHARE = 6


class Arguments(BaseModel):
    """What to find out."""

    model_config = ConfigDict(extra="ignore")

    question: str = Field(description="the whole question, in the user's language")


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    within = context.key if context.shared else None
    pack = research(
        context.store, context.index, arguments.question, context.model, context.session_id or None, within, context.n
    )
    out = pack.record() | {"notice": NOTICE}
    budget = context.store.settings.context_window_tokens // BUDGET_SHARE
    kept = affordable(out["quotes"], budget)
    return out | {"quotes": kept, "showing": len(kept), "total": len(out["quotes"])}


TOOL = Tool(
    "research",
    "Gather evidence on a question that one search cannot answer (it has several parts, compares, or asks how "
    "something changed): asks the memory in several ways and returns quotes with their sources, what is missing, and "
    "statements that contradict each other with their dates.",
    Arguments,
    _run,
)
