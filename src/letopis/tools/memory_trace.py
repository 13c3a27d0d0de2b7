"""`memory_trace`: from a fact to the messages it rests on, what stood around them, and its changes."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.lifecycle.trace import trace
from letopis.model import secrets
from letopis.model.text import shorten
from letopis.tools.registry import NOTICE, Tool, ToolContext, failure

_LONGEST = 1_500


class Arguments(BaseModel):
    """Which fact."""

    model_config = ConfigDict(extra="ignore")

    fact: str = Field(description="the id of a fact, its text, or words that only it has")


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    if context.shared:
        return failure("this conversation is shared by several people; the private facts are not traced here")
    found = trace(context.store, arguments.fact)
    changes = [
        {"at": b.at, "by": b.by, "op": e.op, "before": e.before.text if e.before else None,
         "after": e.after.text if e.after else None, "why": e.why}
        for b, e in found.events
    ]  # fmt: skip
    sources = [
        {
            "source": s.source,
            "timestamp": s.timestamp,
            "role": s.role,
            "text": shorten(secrets.redact(s.text), _LONGEST),
            "around": [{**n, "text": shorten(secrets.redact(n["text"]), _LONGEST // 3)} for n in s.around],
        }
        for s in found.sources
    ]
    return {
        "status": "ok",
        "notice": NOTICE,
        "fact": {"id": found.fact.id, "text": found.fact.text, "current": found.current},
        "changes": changes,
        "sources": sources,
        "missing": list(found.missing),
    }


TOOL = Tool(
    "memory_trace",
    "Tell where a fact of the long-term memory comes from: the exact messages that say it, what was said around "
    "them, and how the fact changed since. Use it when the user asks why or since when you think something.",
    Arguments,
    _run,
)
