"""What a model may send: the schemas of structured answers, each validated before it is used.

A wrong item of a list is dropped and named, and the others count; nothing is guessed.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from letopis.errors import AnswerUnusable
from letopis.model.folding import Folded
from letopis.model.proposals import Operation, SaveMemory, Summary
from letopis.model.tidying import Proposal


def _numbers(value: object) -> object:
    """Message numbers come as 12, "12", "#12" or "id#12", alone or in a list."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    return [item.rpartition("#")[2].strip() if isinstance(item, str) else item for item in items]


def _text(value: object) -> object:
    return "" if value is None else value


Text = Annotated[str, BeforeValidator(_text)]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]


class OperationForm(BaseModel):
    """One change of the facts."""

    model_config = ConfigDict(extra="ignore")

    op: Literal["add", "replace", "remove"] = Field(
        description="add a new fact, replace one that changed, remove one that is no longer true"
    )
    text: Text = Field("", description="the fact, one short sentence in the language it was said in")
    fact: Text = Field("", description="for replace and remove: the id or the exact old text")
    section: Text = Field("", description="heading to put it under, in the same language")
    source: Numbers = Field(default=[], description="numbers of the messages that say so")
    reason: Text = Field("", description="why this change")


class SaveMemoryForm(BaseModel):
    """Changes of the long-term memory. An empty list means that nothing is worth keeping."""

    model_config = ConfigDict(extra="ignore")

    operations: list[OperationForm] = Field(default=[], description="the changes, in order")
    memory_update: Text = Field("", description="instead of operations: the whole new MEMORY.md")


class SummaryForm(BaseModel):
    """The summary of a closed conversation, in the language of the conversation."""

    model_config = ConfigDict(extra="ignore")

    title: str = Field(min_length=1, description="a title of at most eight words")
    slug: Text = Field("", description="two to five words for a file name, joined by dashes")
    summary: str = Field(min_length=1, description="what it was about and how it ended, 2 to 6 sentences")
    decisions: list[str] = Field(default=[], description="what was decided")
    next_steps: list[str] = Field(default=[], description="what is still to be done, and by whom")
    topics: list[str] = Field(default=[], description="topics, files, names that came up")
    key_messages: Numbers = Field(default=[], description="numbers of the few most important messages")


class FlushForm(BaseModel):
    """Lines of the daily note. An empty list means that nothing is worth one."""

    model_config = ConfigDict(extra="ignore")

    items: list[str] = Field(default=[], description="the lines, one sentence each")


class FoldForm(BaseModel):
    """What is new in a part of a conversation."""

    model_config = ConfigDict(extra="ignore")

    goal: Text = Field("", description="what the user wants to get done now; empty: as before")
    done: list[str] = Field(default=[], description="what was done")
    decided: list[str] = Field(default=[], description="what was decided")
    facts: list[str] = Field(default=[], description="facts and figures, each with what it belongs to")
    open_questions: list[str] = Field(default=[], description="questions without an answer yet")
    files: list[str] = Field(default=[], description="files and names that matter")
    outdated: list[str] = Field(default=[], description="items folded before that are not true any more, exactly")


class DraftForm(BaseModel):
    """The draft of an answer."""

    model_config = ConfigDict(extra="ignore")

    answer: str = Field(min_length=1, max_length=8_000, description="the answer, in the language of the question")


class LessonForm(BaseModel):
    """What is learnt from failures of one kind."""

    model_config = ConfigDict(extra="ignore")

    when: str = Field(min_length=1, max_length=1_000, description="by what such a question is known")
    do: str = Field(min_length=1, max_length=4_000, description="the right answer")
    dont: Text = Field("", description="what must not be answered")


class OtherWordsForm(BaseModel):
    """A question in other words."""

    model_config = ConfigDict(extra="ignore")

    questions: list[str] = Field(default=[], max_length=20, description="up to five other ways to ask")


class DatumForm(BaseModel):
    """One exact datum."""

    model_config = ConfigDict(extra="ignore")

    text: str = Field(description="the datum with its unit and what it belongs to, copied exactly, one short line")
    n: int = Field(description="the number of the message that says it")


class AnchorForm(BaseModel):
    """What of a part of a conversation must stay at hand."""

    model_config = ConfigDict(extra="ignore")

    topic: Text = Field("", description="what this part is about, a few words")
    data: list[DatumForm] = Field(default=[], description="prices, dates, names, figures, decisions")
    goals_opened: list[str] = Field(default=[], description="what the user now wants to get done, one sentence each")
    goals_done: list[str] = Field(default=[], description="ids of open goals that were reached here")
    goals_dropped: list[str] = Field(default=[], description="ids of open goals that the user gave up here")


class MergeForm(BaseModel):
    """Facts that become one."""

    model_config = ConfigDict(extra="ignore")

    ids: list[str] = Field(description="their ids")
    text: str = Field(description="the one sentence that says what they say")


class TidyForm(BaseModel):
    """How to make the memory smaller."""

    model_config = ConfigDict(extra="ignore")

    merge: list[MergeForm] = Field(default=[], description="groups of facts that become one")
    archive: list[str] = Field(default=[], description="ids of facts that leave the prompt and stay searchable")


def parse_tidy(payload: Mapping[str, Any]) -> tuple[Proposal, list[str]]:
    """How to tidy. Raises AnswerUnusable where the form is wrong."""
    form = _validated(TidyForm, payload)
    return Proposal(tuple((tuple(m.ids), m.text) for m in form.merge), tuple(form.archive)), []


def parse_flush(payload: Mapping[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    """The lines of a daily note. Raises AnswerUnusable where the form is wrong."""
    return tuple(item for item in _validated(FlushForm, payload).items if item.strip()), []


def parse_fold(payload: Mapping[str, Any]) -> tuple[Folded, list[str]]:
    """A folded part. Raises AnswerUnusable where the form is wrong."""
    form = _validated(FoldForm, payload)
    lists: dict[str, Any] = {
        name: tuple(getattr(form, name)) for name in ("done", "decided", "facts", "files", "outdated")
    }
    return replace(Folded(goal=form.goal, open=tuple(form.open_questions)), **lists), []


def parse_anchor(payload: Mapping[str, Any]) -> tuple[AnchorForm, list[str]]:
    """What an anchor is made of. Raises AnswerUnusable where the form is wrong."""
    return _validated(AnchorForm, payload), []


def parse_other_words(payload: Mapping[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    """The other ways to ask. Raises AnswerUnusable where the form is wrong."""
    asked = [text[:300] for text in _validated(OtherWordsForm, payload).questions if text.strip()]
    return tuple(asked[:5]), []


def parse_lesson(payload: Mapping[str, Any]) -> tuple[LessonForm, list[str]]:
    """A lesson. Raises AnswerUnusable where the form is wrong."""
    return _validated(LessonForm, payload), []


def parse_draft(payload: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The draft. Raises AnswerUnusable where the form is wrong."""
    return _validated(DraftForm, payload).answer, []


Shape = TypeVar("Shape", bound=BaseModel)


def _validated(shape: type[Shape], payload: Mapping[str, Any]) -> Shape:
    try:
        return shape.model_validate(payload)
    except ValidationError as error:
        raise AnswerUnusable(f"the answer breaks its schema: {explain(error)}") from None


def parse_save_memory(payload: Mapping[str, Any]) -> tuple[SaveMemory, list[str]]:
    """The changes that have the right form, and what was wrong with the others."""
    items = payload.get("operations")
    problems: list[str] = []
    good: list[Operation] = []
    if items is not None and not isinstance(items, list):
        problems.append(f"operations must be a list, not {type(items).__name__}")
        items = []
    for at, item in enumerate(items or []):
        try:
            form = OperationForm.model_validate(item)
            good.append(Operation(**{**form.model_dump(), "source": tuple(form.source)}))
        except ValidationError as error:
            problems.append(f"operation {at + 1}: {explain(error)}")
    update = payload.get("memory_update")
    if update is not None and not isinstance(update, str):
        problems.append(f"memory_update must be a text, not {type(update).__name__}")
        update = ""
    if payload and items is None and update is None:
        problems.append(f"there is neither `operations` nor `memory_update` in it, only {sorted(payload)[:5]}")
    return SaveMemory(tuple(good), update or ""), problems


def parse_summary(payload: Mapping[str, Any]) -> tuple[Summary, list[str]]:
    """The summary. Raises AnswerUnusable where its form is wrong."""
    form = _validated(SummaryForm, payload)
    lists = {name: tuple(value) for name, value in form.model_dump().items() if isinstance(value, list)}
    return Summary(**{**form.model_dump(), **lists}), []


def explain(error: ValidationError) -> str:
    """A validation error in one line that a model can act on."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'value'}: {item['msg']}" for item in error.errors()[:5]
    )


@cache
def schema_of(payload: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a payload, without the references that some servers cannot follow."""
    schema = payload.model_json_schema()
    definitions = schema.pop("$defs", {})
    inlined: dict[str, Any] = _inline(schema, definitions)
    return inlined


def _inline(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, Mapping):
        if "$ref" in node:
            return _inline(definitions[node["$ref"].rpartition("/")[2]], definitions)
        skipped = ("title",) if isinstance(node.get("title"), str) else ()
        return {k: _inline(v, definitions) for k, v in node.items() if k not in skipped}
    return [_inline(item, definitions) for item in node] if isinstance(node, list) else node
