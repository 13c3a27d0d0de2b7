"""From a fact to where it comes from: its messages, and every change of it."""

from dataclasses import asdict, dataclass

from letopis.errors import NoSingleMatch, SessionNotFound
from letopis.lifecycle.remember import single
from letopis.model.facts import Fact
from letopis.model.journal import Batch, Event
from letopis.store import Store


@dataclass(frozen=True, slots=True)
class Source:
    """A message that a fact rests on, and what was said just before and after it."""

    source: str
    role: str
    timestamp: str
    text: str
    around: tuple[dict[str, str], ...]

    def record(self) -> dict[str, object]:
        """The source as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Trace:
    """A fact, whether it is still remembered, its changes, and its messages."""

    fact: Fact
    current: bool
    events: tuple[tuple[Batch, Event], ...]
    sources: tuple[Source, ...]
    missing: tuple[str, ...]

    @property
    def archived(self) -> bool:
        """Whether it was moved out of the prompt and is still searched."""
        return not self.current and bool(self.events) and self.events[-1][1].op == "moved"


def trace(store: Store, reference: str) -> Trace:
    """The trace of a fact, by id or text; one that is gone is found in the journal. Raises NoSingleMatch."""
    every = [(batch, event) for batch in store.facts.batches() for event in batch.events]
    known = store.facts.view().facts
    try:
        fact = single(reference, known)
    except NoSingleMatch:
        gone = {e.fact_id: e.before for _, e in every if e.before is not None}
        fact = single(reference, [f for i, f in gone.items() if i not in {k.id for k in known}])
    current = any(f.id == fact.id for f in known)
    events = tuple((b, e) for b, e in every if e.fact_id == fact.id)
    named = [s for f in (fact, *(e.after for _, e in events if e.after)) for s in f.sources]
    sources, missing = _messages(store, list(dict.fromkeys(named)))
    return Trace(fact, current, events, tuple(sources), tuple(missing))


def _messages(store: Store, named: list[str]) -> tuple[list[Source], list[str]]:
    found: list[Source] = []
    missing: list[str] = []
    for source in named:
        session_id, _, n = source.partition("#")
        try:
            messages = store.sessions.transcript(session_id).messages
        except SessionNotFound:
            missing.append(source)
            continue
        message = next((m for m in messages if str(m.n) == n), None)
        if message is None:
            missing.append(source)
        else:
            around = tuple(
                {"source": f"{session_id}#{m.n}", "role": m.role, "text": m.text}
                for m in messages
                if m.spoken and 0 < abs(m.n - message.n) <= 1
            )
            found.append(Source(source, message.role, message.timestamp, message.text, around))
    return found, missing


def resting_on(store: Store, session_id: str) -> list[Fact]:
    """The facts that a session is a source of."""
    prefix = f"{session_id}#"
    return [f for f in store.facts.view().facts if any(s.startswith(prefix) for s in f.sources)]
