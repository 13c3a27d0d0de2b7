"""Writes what matters of turns that are about to leave the prompt into the daily note.

Once for each range of messages: the block bears its range, and the range is looked for before
anything is written. Without a model, or where it fails, whole sentences are taken as they were said.
"""

import re
from collections.abc import Sequence

from letopis.errors import ModelError
from letopis.lifecycle import material
from letopis.lifecycle.shared import is_shared
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import extract, guards, payloads, secrets
from letopis.model.messages import Message
from letopis.model.text import one_line, shorten
from letopis.model.transcript import Transcript
from letopis.store import Store

MOST_ITEMS = 12
LONGEST_ITEM = 300
FORM: Form[tuple[str, ...]] = Form(
    ToolSpec("save_notes", "Keep lines of the daily note.", payloads.schema_of(payloads.FlushForm)),
    payloads.parse_flush,
)


def flush(store: Store, model: ChatModel | None, transcript: Transcript, upto: int) -> bool:
    """Flush the messages up to number `upto` that were not flushed yet; whether there were any."""
    header = transcript.header
    if header is None or not store.settings.memory_flush.enabled or is_shared(store, transcript):
        return False
    span = [m for m in transcript.standing(transcript.last_flushed, upto) if m.spoken]
    if span:
        done = _flushed_through(store, header.session_id, span)
        span = [m for m in span if m.n > done]
    left = list(span)
    while left:
        part = material.oldest_within([(m,) for m in left], store.settings.context_window_tokens // 2)
        left = left[len(part) :]
        _write(store, model, transcript, part, part[-1].n if left else upto)
    if upto > transcript.last_flushed and transcript.archive is None:
        store.transcripts.append_state(header.key, header.session_id, {"last_flushed": upto})
    return bool(span)


def _note_of(message: Message) -> str:
    return f"memory/{message.timestamp[:10]}.md"


def _flushed_through(store: Store, session_id: str, span: Sequence[Message]) -> int:
    """Up to which message blocks of this session stand in the notes of these days, whatever the pointer says."""
    texts = (store.notes.read(name) or "" for name in dict.fromkeys(map(_note_of, span)))
    marks = (match for text in texts for match in re.findall(rf"(?m)^<!-- flushed {session_id}#\d+-(\d+) -->$", text))
    return max(map(int, marks), default=0)


def _write(store: Store, model: ChatModel | None, transcript: Transcript, span: Sequence[Message], upto: int) -> None:
    header = transcript.header
    assert header is not None
    last = span[-1]
    mark = f"flushed {header.session_id}#{span[0].n}-{upto}"
    heading = f"## {last.timestamp[11:16]} · {one_line(header.key)} · {header.session_id}#{span[0].n}-{upto}"
    lines = [f"- {shorten(one_line(secrets.redact(item)), LONGEST_ITEM)}" for item in _items(store, model, span)]
    store.notes.add_block(_note_of(last), mark, heading, list(dict.fromkeys(lines)), last.timestamp[:10])


def _items(store: Store, model: ChatModel | None, span: Sequence[Message]) -> Sequence[str]:
    if model is not None:
        try:
            return _proposed(store, model, span)
        except ModelError:
            pass  # what the model cannot do now is done more simply; the turns stay in the transcript
    return [s.text for s in extract.best(extract.sentences(span), MOST_ITEMS)]


def _proposed(store: Store, model: ChatModel, span: Sequence[Message]) -> Sequence[str]:
    said = supporting(span)
    request = [
        {"role": "system", "content": material.prompt("flush")},
        {"role": "user", "content": material.fenced(span)},
    ]

    def check(items: tuple[str, ...]) -> list[str]:
        return [f"{item[:60]!r}: {reason}" for item in items if (reason := refusal(item, said))]

    answer = ask(model, request, FORM, check, lambda r: material.note_usage(store, "flush", model.name, r))
    return [item for item in answer.payload if not refusal(item, said)][:MOST_ITEMS]


def supporting(span: Sequence[Message]) -> str:
    """All that was said in these messages, with their days: what an item may rest on."""
    return "\n".join(f"{m.timestamp[:10]} {m.text}" for m in span)


def refusal(item: str, said: str) -> str:
    """Why an item cannot be believed, or an empty text."""
    reason = guards.form_of_proposed(item)
    if reason:
        return reason
    missing = guards.unsupported(item, said)
    return f"{missing!r} does not stand in the conversation" if missing else ""
