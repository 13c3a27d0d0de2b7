"""`save_memory`: add, replace or remove facts of the long-term memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from letopis.lifecycle.consolidate import operations_of
from letopis.model import payloads
from letopis.model.facts import Document
from letopis.model.journal import Event
from letopis.model.update import Decided, Decider, Evidence
from letopis.store.facts import new_event_id
from letopis.tools.registry import Tool, ToolContext, failure


class Arguments(BaseModel):
    """Anything; each operation is validated on its own, so that one wrong item spoils no other."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What the model is told: the same form as everywhere."""
        return payloads.SaveMemoryForm.model_json_schema(*args, **kwargs)


def _run(context: ToolContext, arguments: Arguments) -> Mapping[str, Any]:
    if context.shared:
        return failure("this conversation is shared by several people; nothing said here becomes a fact")
    payload, problems = payloads.parse_save_memory(arguments.model_extra or {})
    transcript = context.store.sessions.transcript(context.session_id)
    evidence = Evidence(context.session_id, {m.n: m for m in transcript.messages})
    decided: list[Decided] = []

    def decide(document: Document) -> Sequence[Event]:
        operations = [
            op if op.source else replace(op, source=(context.n,)) for op in operations_of(payload, document, evidence)
        ]
        today = context.store.clock.now().date().isoformat()
        decided.append(Decider(document, evidence, today, new_event_id).take(operations))
        return decided[0].events

    context.store.facts.change("model", decide, context.session_id)
    return _answer(decided[0], problems)


def _answer(decided: Decided, problems: Sequence[str]) -> Mapping[str, Any]:
    changes = [{"op": e.op, "fact": e.fact_id, "text": e.text, "event": e.id} for e in decided.events]
    refused = [*problems, *decided.refused]
    status = "ok" if changes or not refused else "error"
    out: dict[str, Any] = {"status": status, "changes": changes}
    if decided.known:
        out["already_known"] = [fact.text for fact in decided.known]
    if refused:
        out["refused"] = refused
    return out


TOOL = Tool(
    "save_memory",
    "Keep facts that will matter in later conversations: preferences, decisions, people, plans, figures. Use it "
    "when the user asks to remember or forget something, or says something lasting. `source` may be left out: "
    "the user's newest message is meant then. To change or remove a fact give its old text in `fact`.",
    Arguments,
    _run,
    writes=True,
    destroys=True,
    here=True,
)
