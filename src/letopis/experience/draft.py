"""Writes the draft of a suggestion from its cases, by the model; what is not in the cases is not believed."""

from dataclasses import replace

from letopis.errors import ModelError
from letopis.experience.desk import Desk, prompt
from letopis.experience.suggest import Suggestion
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import figures, guards, payloads

FORM: Form[str] = Form(
    ToolSpec("draft", "Write the answer.", payloads.schema_of(payloads.DraftForm)), payloads.parse_draft
)
_CASES = 3


def drafted(desk: Desk, suggestion: Suggestion, model: ChatModel) -> Suggestion:
    """The suggestion with a draft in the model's words; as it was where the model adds to the cases or fails."""
    if not suggestion.cases:
        return suggestion
    told = [f"Question: {case.question}\nAnswer: {case.answer}" for case, _ in suggestion.cases[:_CASES]]
    wrong = [f"Wrong, never answer this: {a.wrong}" for a in suggestion.antipatterns]
    said = "\n\n".join([*told, *wrong])
    material = f"<<<cases\n{said}\ncases>>>\n\n<<<question\n{suggestion.question}\nquestion>>>"
    request = [{"role": "system", "content": prompt("draft")}, {"role": "user", "content": material}]
    believed = "\n".join([suggestion.question, *(case.answer for case, _ in suggestion.cases[:_CASES])])

    def check(draft: str) -> list[str]:
        return [reason] if (reason := refusal(draft, believed, suggestion)) else []

    try:
        answer = ask(model, request, FORM, check, lambda r: desk.note_usage("draft", model.name, r))
    except ModelError:
        return suggestion
    return suggestion if check(answer.payload) else replace(suggestion, draft=answer.payload.strip())


def refusal(draft: str, believed: str, suggestion: Suggestion) -> str:
    """Why a draft cannot be believed, or an empty text."""
    if guards.is_error_text(draft) or not draft.strip():
        return "it is no answer"
    missing = guards.unsupported(draft, believed)
    if missing:
        return f"{missing!r} stands in no case"
    best = figures.meant(suggestion.cases[0][0].answer)
    return "it leaves out a figure of the case that fits best" if best - figures.meant(draft) else ""
