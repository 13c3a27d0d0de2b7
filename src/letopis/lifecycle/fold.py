"""Folds the oldest turns of a long conversation into its summary, which stands in the prompt instead.

The folded turns are flushed first; then one state line carries the pointer and the summary, so
until it is durable the turns stay where they were.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from letopis.errors import ModelError
from letopis.lifecycle import flush as flushing
from letopis.lifecycle import material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import extract, folding, payloads, secrets, tokens, turns
from letopis.model.folding import LISTS, Folded
from letopis.model.messages import Message
from letopis.model.transcript import Transcript
from letopis.store import Store

LARGEST_PART = 12_000
SUMMARY_SHARE = 6
_EXTRACTED = 16
FORM: Form[Folded] = Form(
    ToolSpec("fold", "Fold a part of the conversation.", payloads.schema_of(payloads.FoldForm)), payloads.parse_fold
)


def due(store: Store, transcript: Transcript, room: int) -> int:
    """Up to which message turns should leave the prompt now, where it has `room` tokens for them; 0: none."""
    settings = store.settings.compression
    start = transcript.folded_through if settings.enabled else transcript.last_flushed
    shown = [m for m in transcript.standing(start) if not m.internal]
    every = turns.split(shown)
    costs = [tokens.of_messages(turns.for_provider(turn)) for turn in every]
    count = turns.leaving(costs, int(room * settings.trigger), int(room * settings.target))
    return every[count - 1][-1].n if count else 0


def fold(store: Store, model: ChatModel | None, transcript: Transcript, upto: int, room: int) -> int:
    """Flush and fold the oldest turns up to a message, at most one part of them; returns the new pointer.

    Without compression they are only flushed.
    """
    header = transcript.header
    assert header is not None
    enabled = store.settings.compression.enabled
    start = transcript.folded_through if enabled else transcript.last_flushed
    part = turns.split(transcript.standing(start, upto))
    span = material.oldest_within(part, min(LARGEST_PART, store.settings.context_window_tokens // 2))
    end = span[-1].n
    flushing.flush(store, model, transcript, end)
    if enabled:
        before = transcript.folded
        new = _folded(store, model, before, [m for m in span if m.spoken])
        summary = folding.extended(before, new, max(100, room // SUMMARY_SHARE))
        fields = {"folded_through": end, "folded_summary": summary.record()}
        store.transcripts.append_state(header.key, header.session_id, fields)
    elif end > transcript.last_flushed:
        store.transcripts.append_state(header.key, header.session_id, {"last_flushed": end})
    return end


def _folded(store: Store, model: ChatModel | None, before: Folded, span: Sequence[Message]) -> Folded:
    if model is not None and span:
        try:
            return _proposed(store, model, before, span)
        except ModelError:
            pass  # what the model cannot do now is done more simply; the turns stay in the transcript
    return _extracted(span)


def _proposed(store: Store, model: ChatModel, before: Folded, span: Sequence[Message]) -> Folded:
    said = "\n".join([flushing.supporting(span), before.text()])
    earlier = before.text() or "(nothing)"
    request = [
        {"role": "system", "content": material.prompt("fold")},
        {"role": "user", "content": f"Folded before:\n{earlier}\n\n{material.fenced(span)}"},
    ]

    def check(part: Folded) -> list[str]:
        items = [part.goal, *(item for name in LISTS for item in getattr(part, name))]
        return [f"{i[:60]!r}: {reason}" for i in items if i and (reason := flushing.refusal(i, said))]

    answer = ask(model, request, FORM, check, lambda r: material.note_usage(store, "fold", model.name, r))
    return _believable(answer.payload, said)


def _believable(part: Folded, said: str) -> Folded:
    """The items that stand in what was said."""
    lists: dict[str, Any] = {
        name: tuple(secrets.redact(i) for i in getattr(part, name) if not flushing.refusal(i, said)) for name in LISTS
    }
    goal = "" if not part.goal or flushing.refusal(part.goal, said) else secrets.redact(part.goal)
    return replace(Folded(goal=goal, outdated=part.outdated), **lists)


def _extracted(span: Sequence[Message]) -> Folded:
    """The weightiest sentences, by kind."""
    found = extract.best(extract.sentences(span), _EXTRACTED)
    by_kind = {kind: tuple(s.text for s in found if s.kind == kind) for kind in get_args(extract.Kind)}
    return Folded(
        done=by_kind["other"],
        decided=by_kind["decided"],
        facts=by_kind["facts"],
        open=by_kind["open"][-3:],
        files=by_kind["files"],
    )
