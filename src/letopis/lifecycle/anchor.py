"""Places an anchor where one is due: by the model where there is one, and always with what stands in the words."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from letopis.errors import ModelError
from letopis.index import Index
from letopis.lifecycle import flush as flushing
from letopis.lifecycle import material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import goals, payloads, secrets
from letopis.model.anchoring import LONGEST, Anchor, Item
from letopis.model.goals import Goal
from letopis.model.messages import Message
from letopis.model.payloads import AnchorForm
from letopis.model.text import one_line, shorten
from letopis.model.transcript import Transcript
from letopis.short_term import anchors
from letopis.short_term.anchors import Due
from letopis.short_term.goals import follow, note
from letopis.store import Store

_MOST_ITEMS = 24
FORM: Form[AnchorForm] = Form(
    ToolSpec("anchor", "Note what must stay at hand.", payloads.schema_of(AnchorForm)), payloads.parse_anchor
)


def anchor(
    store: Store,
    index: Index | None,
    model: ChatModel | None,
    transcript: Transcript,
    stop: Callable[[], bool] = lambda: False,
) -> list[Anchor]:
    """Follow the goals and place the anchors that are due; returns them."""
    header = transcript.header
    if header is None:
        return []
    if follow(store, transcript):
        transcript = store.sessions.transcript(header.session_id, header.key)
    placed: list[Anchor] = []
    for due in anchors.due(transcript, index):
        if stop():
            break
        transcript = store.sessions.transcript(header.session_id, header.key)
        placed.append(_placed(store, model, transcript, due))
    return placed


def _placed(store: Store, model: ChatModel | None, transcript: Transcript, due: Due) -> Anchor:
    told = [(m,) for m in due.messages if m.spoken]
    span = material.oldest_within(told, store.settings.context_window_tokens // 2)
    made = _proposed(store, model, transcript, span) if model is not None and span else AnchorForm()
    known = _noted(store, transcript, made, due.messages[-1].n)
    items = [Item(item.text, item.n) for item in made.data]
    return anchors.place(store, transcript, due, made.topic, items, [g.text for g in known if g.is_open])


def _proposed(store: Store, model: ChatModel, transcript: Transcript, span: Sequence[Message]) -> AnchorForm:
    """What the model notes, as far as it stands in what was said; nothing where the model fails."""
    by_number = {m.n: flushing.supporting([m]) for m in span}
    said = "\n".join(by_number.values())
    known = "\n".join(f"{g.id}: {g.text}" for g in transcript.goals_at() if g.is_open) or "(none)"
    request = [
        {"role": "system", "content": material.prompt("anchor")},
        {"role": "user", "content": f"Open goals:\n{known}\n\n{material.fenced(span)}"},
    ]

    def check(form: AnchorForm) -> list[str]:
        wrong = [f"{d.text[:60]!r}: {reason}" for d in form.data if (reason := _refusal(d.text, d.n, by_number))]
        opened = ((text, flushing.refusal(text, said)) for text in form.goals_opened)
        return wrong + [f"{text[:60]!r}: {reason}" for text, reason in opened if reason]

    try:
        answer = ask(model, request, FORM, check, lambda r: material.note_usage(store, "anchor", model.name, r))
    except ModelError:
        return AnchorForm()
    return _believable(answer.payload, by_number, said)


def _refusal(text: str, n: int, by_number: dict[int, str]) -> str:
    """Why a datum cannot be believed, or an empty text."""
    if n not in by_number:
        return f"there is no message #{n} in this part"
    return flushing.refusal(text, by_number[n]) or ("it holds a secret" if secrets.holds_secret(text) else "")


def _believable(form: AnchorForm, by_number: dict[int, str], said: str) -> AnchorForm:
    data = [
        d.model_copy(update={"text": shorten(one_line(d.text), LONGEST)})
        for d in form.data[:_MOST_ITEMS]
        if not _refusal(d.text, d.n, by_number)
    ]
    opened = [text for text in form.goals_opened if not flushing.refusal(text, said)]
    topic = "" if flushing.refusal(form.topic, said) else shorten(one_line(form.topic), 80)
    return form.model_copy(update={"data": data, "goals_opened": opened, "topic": topic})


def _noted(store: Store, transcript: Transcript, made: AnchorForm, n: int) -> list[Goal]:
    """Write down the goals that the model saw opened and ended; returns all goals as they are then."""
    known = {goal.id: goal for goal in transcript.goals_at(n)}
    changed = {}
    for state, ids in (("done", made.goals_done), ("dropped", made.goals_dropped)):
        for goal in (known[id_] for id_ in ids if id_ in known and known[id_].is_open):
            changed[goal.id] = replace(goal, state=state, n=n)
    for text in made.goals_opened:
        goal = goals.new(text, n)
        if goal.text and not any(goals.is_like(goal, other) for other in known.values()):
            changed[goal.id] = goal
    note(store, transcript, list(changed.values()))
    return list({**known, **changed}.values())
