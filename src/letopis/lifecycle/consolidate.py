"""Takes the facts of a conversation's unconsolidated turns into `MEMORY.md`.

One bounded call of `save_memory`; every operation passes the guards. The pointer moves only
after the facts are durable, and the range they came from is one line of the journal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from letopis.errors import LetopisError, ModelError
from letopis.lifecycle import material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import names, payloads, secrets, tokens, turns
from letopis.model.facts import Document, Fact
from letopis.model.journal import RAW, Batch, Event
from letopis.model.messages import Message
from letopis.model.proposals import Operation, SaveMemory
from letopis.model.text import shorten
from letopis.model.transcript import Transcript
from letopis.model.update import Decided, Decider, Evidence, from_whole_file
from letopis.store import Store
from letopis.store.facts import new_event_id

LARGEST_RANGE = 16_000
FAILURES = 3
STREAK_EXPIRES = timedelta(hours=24)
RAW_CHARACTERS = 40_000
FORM: Form[SaveMemory] = Form(
    ToolSpec("save_memory", "Change the long-term memory.", payloads.schema_of(payloads.SaveMemoryForm)),
    payloads.parse_save_memory,
)


@dataclass(frozen=True, slots=True)
class Failed:
    """A range that gave nothing usable; with `raw` its turns were kept in the raw archive and passed over."""

    error: ModelError
    raw: bool


def pending(store: Store, transcript: Transcript) -> list[Message]:
    """The messages from which no facts were taken yet."""
    waiting = transcript.standing(_start(store, transcript))
    live = transcript.ended_at is None and transcript.archive is None
    if live and waiting and (waiting[-1].role == "tool" or waiting[-1].stored.get("tool_calls")):
        return [m for turn in turns.split(waiting)[:-1] for m in turn]  # the newest turn still runs
    return waiting


def is_due(store: Store, transcript: Transcript) -> bool:
    """Whether so many tokens wait that facts should be taken now."""
    limit = store.settings.consolidation.tokens
    if limit <= 0:
        return False
    waiting = 0
    for message in pending(store, transcript):
        waiting += tokens.estimate(message.text) if message.spoken else 0
        if waiting >= limit:
            return True
    return False


def _start(store: Store, transcript: Transcript) -> int:
    return max([transcript.last_consolidated, *(b for _, b in store.facts.spans(transcript.session_id))])


def consolidate(store: Store, model: ChatModel, transcript: Transcript) -> Batch | None:
    """Take the oldest unconsolidated turns that fit one call; None where there are none.

    Raises ModelError where the model gave nothing usable, and what the store raises; then
    nothing has changed.
    """
    if transcript.header is None:
        return None
    span = _next_range(store, transcript)
    start = _start(store, transcript)
    if not span:
        _point(store, transcript, start)
        return None
    return take(store, model, transcript, span, (start + 1, span[-1].n))


def take(
    store: Store, model: ChatModel, transcript: Transcript, span: Sequence[Message], numbers: tuple[int, int]
) -> Batch:
    """Take the facts of these messages; a range that was only archived raw may be taken so again."""
    evidence = Evidence(transcript.session_id, {m.n: m for m in transcript.messages})
    operations = _proposed(store, model, span, evidence) if any(m.spoken for m in span) else []

    def decide(document: Document) -> Sequence[Event]:
        decided: Decided = _decider(store, document, evidence).take(operations)
        now = store.sessions.transcript(transcript.session_id, transcript.header.key if transcript.header else None)
        return [event for event in decided.events if not (event.after and now.has_superseded(event.after.sources))]

    batch = store.facts.change("model", decide, transcript.session_id, numbers)
    _point(store, transcript, numbers[1])
    return batch


def attempt(store: Store, model: ChatModel, transcript: Transcript) -> Batch | Failed | None:
    """The same for the background: failures are counted, and after three in a row the range is kept raw.

    The counts are state lines, and old ones count no more.
    """
    try:
        batch = consolidate(store, model, transcript)
    except ModelError as error:
        return _counted(store, transcript, error)
    if batch is not None and transcript.state.get("consolidation_failures"):
        _note(store, transcript, {"consolidation_failures": None})
    return batch


def _counted(store: Store, transcript: Transcript, error: ModelError) -> Failed:
    now, start = store.clock.now(), _start(store, transcript) + 1
    count = failures(transcript, now) + 1
    if count < FAILURES:
        streak = {"from": start, "count": count, "at": names.stamp(now)}
        _note(store, transcript, {"consolidation_failures": streak})
        return Failed(error, raw=False)
    span = _next_range(store, transcript)
    _keep_raw(store, transcript, span, (start, span[-1].n), str(error))
    store.facts.change(RAW, lambda document: [], transcript.session_id, (start, span[-1].n))
    _note(store, transcript, {"last_consolidated": span[-1].n, "consolidation_failures": None})
    return Failed(error, raw=True)


def failures(transcript: Transcript, now: datetime) -> int:
    """How often in a row this session's facts could not be taken, as far as that was lately."""
    found = transcript.state.get("consolidation_failures")
    if not isinstance(found, dict) or not isinstance(found.get("count"), int):
        return 0
    try:
        fresh = now - datetime.fromisoformat(str(found.get("at"))) < STREAK_EXPIRES
    except (ValueError, TypeError):
        return 0
    return found["count"] if fresh else 0


def _keep_raw(
    store: Store, transcript: Transcript, span: Sequence[Message], numbers: tuple[int, int], why: str
) -> None:
    """Write the turns into the raw archive, which no prompt and no index ever sees."""
    day = span[-1].timestamp[:10] or store.clock.now().date().isoformat()
    where = f"{transcript.session_id}#{numbers[0]}-{numbers[1]}"
    text = secrets.redact("\n\n".join(material.rendered(m) for m in span if m.spoken))
    shown = shorten(text, RAW_CHARACTERS, "")
    cut = f"\n[cut: {len(text) - len(shown)} of {len(text)} characters; the transcript has them]"
    lines = [f"> {line}".rstrip() for line in (shown + (cut if len(shown) < len(text) else "")).splitlines()]
    store.notes.add_block(
        f"memory/{day}-raw-archive.md", f"raw {where}", f"## {where}: {shorten(why, 200)}", lines, f"{day} raw archive"
    )


def _point(store: Store, transcript: Transcript, n: int) -> None:
    if n > transcript.last_consolidated:
        _note(store, transcript, {"last_consolidated": n})


def _note(store: Store, transcript: Transcript, fields: dict[str, object]) -> None:
    """A state line; an archive does not change any more, and the journal is its pointer."""
    if transcript.header is not None and transcript.archive is None:
        store.transcripts.append_state(transcript.header.key, transcript.session_id, fields)


def _next_range(store: Store, transcript: Transcript) -> list[Message]:
    budget = min(LARGEST_RANGE, store.settings.context_window_tokens // 2)
    return material.oldest_within(turns.split(pending(store, transcript)), budget)


def _proposed(store: Store, model: ChatModel, span: Sequence[Message], evidence: Evidence) -> Sequence[Operation]:
    document = store.facts.view().document
    own = {f"{evidence.session_id}#{m.n}" for m in span}
    known = _known(store, document, own)
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


def _known(store: Store, document: Document, own: set[str]) -> str:
    """The known facts that the call has room for, the newest first; those of these very messages always."""
    budget = store.settings.context_window_tokens // 4
    lines: list[str] = []
    for fact in sorted(document.facts, key=lambda f: (bool(own.intersection(f.sources)), f.date), reverse=True):
        line = _known_line(fact, own)
        budget -= tokens.estimate(line) + 1
        if budget < 0:
            break
        lines.append(line)
    return "\n".join(lines) or "(none)"


def _known_line(fact: Fact, own: set[str]) -> str:
    """A known fact; one that was taken from these very messages says so."""
    taken = [source.rpartition("#")[2] for source in fact.sources if source in own]
    note = f" (taken from #{', #'.join(taken)} already)" if taken else ""
    return f"- [{fact.id}] {fact.text}{note}"


def operations_of(payload: SaveMemory, document: Document, evidence: Evidence) -> Sequence[Operation]:
    """The operations of a payload; a whole new file is turned into operations."""
    if payload.memory_update.strip() and not payload.operations:
        return from_whole_file(payload.memory_update, document, evidence)
    return payload.operations


def _decider(store: Store, document: Document, evidence: Evidence) -> Decider:
    return Decider(document, evidence, store.clock.now().date().isoformat(), new_event_id)


def consolidate_quietly(store: Store, model: ChatModel, transcript: Transcript) -> LetopisError | None:
    """All that waits, for a close, which never waits for facts: a failure is returned, not raised."""
    try:
        while True:
            outcome = attempt(store, model, transcript)
            if outcome is None:
                return None
            if isinstance(outcome, Failed):
                return outcome.error
            transcript = store.sessions.transcript(transcript.session_id)
    except LetopisError as error:
        return error
