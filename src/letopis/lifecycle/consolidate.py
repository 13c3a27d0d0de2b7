"""Takes the facts of a conversation's unconsolidated turns into `MEMORY.md`.

One bounded call of `save_memory`; every operation passes the guards. The pointer moves only
after the facts are durable, and the range they came from is one line of the journal.
"""

from collections.abc import Sequence

from letopis.errors import LetopisError
from letopis.lifecycle import material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import payloads, turns
from letopis.model.facts import Document
from letopis.model.journal import Batch, Event
from letopis.model.messages import Message
from letopis.model.proposals import Operation, SaveMemory
from letopis.model.transcript import Transcript
from letopis.model.update import Decided, Decider, Evidence, from_whole_file
from letopis.store import Store
from letopis.store.facts import new_event_id

LARGEST_RANGE = 16_000
FORM: Form[SaveMemory] = Form(
    ToolSpec("save_memory", "Change the long-term memory.", payloads.schema_of(payloads.SaveMemoryForm)),
    payloads.parse_save_memory,
)


def consolidate(store: Store, model: ChatModel, transcript: Transcript) -> Batch | None:
    """Take the oldest unconsolidated turns that fit one call; None where there are none.

    Raises ModelError where the model gave nothing usable, and what the store raises; then
    nothing has changed.
    """
    header = transcript.header
    if header is None:
        return None
    start = max([transcript.last_consolidated, *(b for _, b in store.facts.spans(header.session_id))])
    span = _next_range(store, transcript, start)
    if not span:
        if start > transcript.last_consolidated:
            store.transcripts.append_state(header.key, header.session_id, {"last_consolidated": start})
        return None
    evidence = Evidence(header.session_id, {m.n: m for m in transcript.messages})
    operations = _proposed(store, model, span, evidence) if any(m.spoken for m in span) else []
    decided: list[Decided] = []

    def decide(document: Document) -> Sequence[Event]:
        decided.append(_decider(store, document, evidence).take(operations))
        return decided[0].events

    batch = store.facts.change("model", decide, header.session_id, (start + 1, span[-1].n))
    store.transcripts.append_state(header.key, header.session_id, {"last_consolidated": span[-1].n})
    return batch


def _next_range(store: Store, transcript: Transcript, start: int) -> list[Message]:
    waiting = [m for m in transcript.messages if m.n > start and not transcript.is_superseded(m.n)]
    budget = min(LARGEST_RANGE, store.settings.context_window_tokens // 2)
    return material.oldest_within(turns.split(waiting), budget)


def _proposed(store: Store, model: ChatModel, span: Sequence[Message], evidence: Evidence) -> Sequence[Operation]:
    document = store.facts.view().document
    known = "\n".join(f"- [{f.id}] {f.text}" for f in document.facts) or "(none)"
    request = [
        {"role": "system", "content": material.prompt("consolidate")},
        {
            "role": "user",
            "content": f"Known facts, by id:\n{known}\n\n{material.fenced([m for m in span if m.spoken])}",
        },
    ]

    def check(payload: SaveMemory) -> list[str]:
        return _decider(store, document, evidence).take(operations_of(payload, document, evidence)).refused

    answer = ask(model, request, FORM, check, lambda r: material.note_usage(store, "facts", model.name, r))
    return operations_of(answer.payload, document, evidence)


def operations_of(payload: SaveMemory, document: Document, evidence: Evidence) -> Sequence[Operation]:
    """The operations of a payload; a whole new file is turned into operations."""
    if payload.memory_update.strip() and not payload.operations:
        return from_whole_file(payload.memory_update, document, evidence)
    return payload.operations


def _decider(store: Store, document: Document, evidence: Evidence) -> Decider:
    return Decider(document, evidence, store.clock.now().date().isoformat(), new_event_id)


def consolidate_quietly(store: Store, model: ChatModel, transcript: Transcript) -> LetopisError | None:
    """The same for a close, which never waits for facts: a failure is returned, not raised."""
    try:
        consolidate(store, model, transcript)
    except LetopisError as error:
        return error
    return None
