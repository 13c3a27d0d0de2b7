"""`experience_search` and `experience_save`: what was answered well before, and what was wrong."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.experience import desk_of
from letopis.experience.add import Added, add
from letopis.tools.registry import NOTICE, Tool, ToolContext, failure

_SHARED = "this conversation is shared by several people; private experience is neither read nor kept here"
_SHOWN = ("id", "collection", "question", "answer", "confidence", "nearness", "source")


class SearchArguments(BaseModel):
    """The question."""

    model_config = ConfigDict(extra="ignore")

    question: str = Field(description="the whole question that is to be answered")
    collection: str | None = Field(None, description="only this collection; without it the nearest is found")


class SaveArguments(BaseModel):
    """A question with its right answer."""

    model_config = ConfigDict(extra="ignore")

    question: str = Field(description="the question as it was asked")
    answer: str = Field(description="the right answer, whole, as it may be given again")
    collection: str | None = Field(None, description="a theme such as returns; without it the nearest is taken")


def _search(context: ToolContext, arguments: SearchArguments) -> Mapping[str, Any]:
    if context.shared:
        return failure(_SHARED)
    found = desk_of(context.store, context.index).suggest(arguments.question, arguments.collection).record()
    cases = [{name: case[name] for name in _SHOWN} for case in found["cases"]]
    kept = {name: found[name] for name in ("status", "verdict", "confidence", "reason", "draft")}
    return {
        **kept,
        "cases": cases,
        "wrong_answers": found["wrong_answers"],
        "lessons": found["lessons"],
        "notice": NOTICE,
    }


def _save(context: ToolContext, arguments: SaveArguments) -> Mapping[str, Any]:
    if context.shared:
        return failure(_SHARED)
    desk = desk_of(context.store, context.index)
    source = f"{context.session_id}#{context.n}" if context.session_id else ""
    made = add(desk, arguments.question, arguments.answer, arguments.collection, "model", source)
    if isinstance(made, Added):
        conflicts = [case.record() for case in made.conflicts]
        return {"status": "ok", "case": made.case.record(), "contradicts": conflicts}
    return {"status": "known", "case": made.case.record()}


SEARCH = Tool(
    "experience_search",
    "Look up how questions like this one were answered before: the answer draft, the cases it rests on, answers that "
    "were WRONG and lessons from them, and whether it is sure enough to answer or a person should be asked.",
    SearchArguments,
    _search,
)
SAVE = Tool(
    "experience_save",
    "Keep a question with its right answer, once the user has confirmed that the answer was right, so that the next "
    "question of this kind is answered at once.",
    SaveArguments,
    _save,
    writes=True,
)
