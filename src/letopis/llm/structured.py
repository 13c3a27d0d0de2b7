"""Structured answers: a forced tool call, validated, with one repair round.

Where a server refuses to be forced, a JSON schema is asked for, then plain JSON. What worked is
remembered for the model.
"""

import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from letopis.errors import AnswerUnusable, RequestRefused
from letopis.llm.port import GOOD_FINISHES, ChatModel, Reply, Request, ToolSpec
from letopis.model import guards

Payload = TypeVar("Payload")
MAX_ANSWER_CHARACTERS = 200_000
_MODES = ("force", "schema", "plain")
_worked: weakref.WeakKeyDictionary[ChatModel, str] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Form(Generic[Payload]):
    """What is asked for. `read` turns an object into the payload and names what is wrong."""

    tool: ToolSpec
    read: Callable[[Mapping[str, Any]], tuple[Payload, list[str]]]


@dataclass(frozen=True, slots=True)
class Answer(Generic[Payload]):
    """A payload, what is still wrong with it, and the replies it took."""

    payload: Payload
    problems: tuple[str, ...]
    replies: tuple[Reply, ...]


def ask(
    model: ChatModel,
    messages: Sequence[Mapping[str, Any]],
    form: Form[Payload],
    check: Callable[[Payload], list[str]],
    seen: Callable[[Reply], None],
) -> Answer[Payload]:
    """The payload that the model gives; `seen` is told of each reply.

    One repair round is granted where the answer is unusable or `check` finds problems. Raises
    AnswerUnusable where no round gave a payload.
    """
    replies: list[Reply] = []
    best: Answer[Payload] | None = None
    problem = ""
    conversation = list(messages)
    for _ in range(2):
        reply = _reply(model, conversation, form.tool)
        seen(reply)
        replies.append(reply)
        try:
            payload, problems = form.read(arguments_of(reply, form.tool.name))
            problems = [*problems, *check(payload)]
            best = Answer(payload, tuple(problems), tuple(replies))
            if not problems:
                return best
            problem = "; ".join(problems)
        except AnswerUnusable as error:
            problem = str(error)
        conversation = [*messages, *_repair(reply, form.tool.name, problem)]
    if best is None:
        raise AnswerUnusable(f"model {model.name!r} gave no usable {form.tool.name} in two tries: {problem}")
    return replace(best, replies=tuple(replies))


def _reply(model: ChatModel, messages: Sequence[Mapping[str, Any]], tool: ToolSpec) -> Reply:
    """The model's reply in the strictest mode that its server accepts."""
    modes = _MODES[_MODES.index(_worked.get(model, "force")) :]
    for mode in modes:
        try:
            reply = model.complete(_request(mode, messages, tool))
        except RequestRefused:
            if mode == modes[-1]:
                raise
            continue
        _worked[model] = mode
        return reply
    raise AssertionError


def _request(mode: str, messages: Sequence[Mapping[str, Any]], tool: ToolSpec) -> Request:
    if mode == "force":
        return Request(messages, tools=(tool,), force=tool.name)
    wanted = json.dumps(tool.parameters, ensure_ascii=False)
    text = f"Answer with one JSON object and nothing else. Its schema: {wanted}"
    asked = [*messages, {"role": "user", "content": text}]
    return Request(asked, json_schema=tool if mode == "schema" else None)


def _repair(reply: Reply, name: str, problem: str) -> list[dict[str, Any]]:
    said = reply.text or "; ".join(str(call.arguments) for call in reply.tool_calls) or "(nothing)"
    text = f"That cannot be used: {problem}. Call {name} once more with the whole corrected answer."
    return [{"role": "assistant", "content": said[:20_000]}, {"role": "user", "content": text[:4_000]}]


def arguments_of(reply: Reply, name: str) -> Mapping[str, Any]:
    """The object in a reply: a call's arguments as dict, text or one-element list, or bare JSON.

    Raises AnswerUnusable.
    """
    if reply.finish not in GOOD_FINISHES:
        raise AnswerUnusable(f"the answer was not finished ({reply.finish})")
    calls = [call for call in reply.tool_calls if call.name == name]
    value: Any = calls[0].arguments if calls else _json_in(reply.text)
    if isinstance(value, str):
        if len(value) > MAX_ANSWER_CHARACTERS:
            raise AnswerUnusable(f"the answer is longer than {MAX_ANSWER_CHARACTERS} characters")
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise AnswerUnusable("the arguments are not valid JSON") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        raise AnswerUnusable("the answer is not a JSON object")
    return value


def _json_in(text: str) -> str:
    if not text:
        raise AnswerUnusable("the answer is empty")
    if guards.is_error_text(text):
        raise AnswerUnusable("the answer is the text of an error")
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise AnswerUnusable("the tool was not called and the answer is not JSON")
    return text[start : end + 1]
