"""The summary of a closed session by a model, checked before it is believed."""

from collections.abc import Sequence

from letopis.errors import AnswerUnusable
from letopis.lifecycle import material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Answer, Form, ask
from letopis.model import guards, payloads
from letopis.model.messages import Message
from letopis.model.proposals import Summary
from letopis.model.summary import is_russian
from letopis.model.text import is_cyrillic, words
from letopis.store import Store

FORM = Form(
    ToolSpec("save_summary", "Keep the summary of the conversation.", payloads.schema_of(payloads.SummaryForm)),
    payloads.parse_summary,
)


def summarise(store: Store, model: ChatModel, messages: Sequence[Message], folded: str = "") -> Summary:
    """The summary of these messages; `folded` tells in short what the older ones said.

    Raises ModelError where no usable one was given.
    """
    spoken = [m for m in messages if m.spoken and m.text.strip()]
    shown = material.newest_within(spoken, store.settings.context_window_tokens // 2)
    left_out = len(spoken) - len(shown)
    earlier = f"What was said before, in short:\n{folded}\n\n" if folded and left_out else ""
    note = f"\n\nThe first {left_out} messages did not fit and are not shown." if left_out and not earlier else ""
    request = [
        {"role": "system", "content": material.prompt("summary")},
        {"role": "user", "content": earlier + material.fenced(shown) + note},
    ]

    def check(summary: Summary) -> list[str]:
        return problems(summary, spoken)

    answer: Answer[Summary] = ask(
        model, request, FORM, check, lambda reply: material.note_usage(store, "summary", model.name, reply)
    )
    if answer.problems:
        raise AnswerUnusable(f"the summary was refused: {'; '.join(answer.problems)}")
    return answer.payload


def problems(summary: Summary, messages: Sequence[Message]) -> list[str]:
    """Why a summary cannot be believed; empty where it can."""
    said = "\n".join(m.text for m in messages)
    parts = [summary.title, summary.summary, *summary.decisions, *summary.next_steps]
    text = "\n".join(parts)
    found = []
    if guards.is_error_text(summary.summary) or guards.is_error_text(summary.title):
        found.append("it is the text of an error")
    if not words(summary.summary) or not words(summary.title):
        found.append("the summary and the title must say something")
    dated = said + "\n" + "\n".join(m.timestamp[:10] for m in messages)
    missing = guards.unsupported("\n".join(parts[1:]), dated)
    if missing:
        found.append(f"{missing!r} does not stand in the conversation")
    if is_cyrillic(text) is not None and is_cyrillic(text) != is_russian(messages):
        found.append("it must be in the language in which the user writes")
    return found
