"""The journal of facts: every change as an event, and what the facts were at any moment.

`MEMORY.md` is what a person sees; the journal says how it came about. A file is always brought
up to date in one way, `reconciled`: the version it derives from, what was decided since, and
what a person changed by hand are merged, so neither side loses anything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from letopis.model import facts
from letopis.model.facts import Document, Fact
from letopis.model.text import normalise

RAW = "raw archive"  # who a batch is by whose range could not be consolidated
OPS = ("added", "replaced", "removed", "moved")


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one fact. `before` and `after` are None where it was or became absent."""

    id: str
    op: str
    before: Fact | None
    after: Fact | None
    why: str = ""
    undoes: str | None = None

    @property
    def fact_id(self) -> str:
        """The fact that changed."""
        fact = self.after or self.before
        return fact.id if fact else ""

    @property
    def text(self) -> str:
        """What the fact says, or said before it went."""
        fact = self.after or self.before
        return fact.text if fact else ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes decided together, with the range of messages they came from, if any.

    A batch with a range and no events says that the range held nothing to keep.
    """

    id: str
    at: str
    by: str
    events: tuple[Event, ...]
    session_id: str | None = None
    span: tuple[int, int] | None = None

    def record(self) -> dict[str, Any]:
        """The batch as its line."""
        a, b = self.span or (None, None)
        source = {"session_id": self.session_id, "a": a, "b": b}
        ops = [_event_record(event) for event in self.events]
        return {"_type": "batch", "id": self.id, "at": self.at, "by": self.by, **source, "ops": ops}


def _event_record(event: Event) -> dict[str, Any]:
    out: dict[str, Any] = {"event": event.id, "op": event.op, "fact": event.fact_id}
    for name, fact in (("before", event.before), ("after", event.after)):
        if fact is not None:
            out[name] = {"text": fact.text, "section": fact.section, "date": fact.date}
            out[name]["sources"] = list(fact.sources)
    out["why"] = event.why
    if event.undoes:
        out["undoes"] = event.undoes
    return out


def parse_batch(record: Mapping[str, Any]) -> Batch | None:
    """The batch on a line, or None where the line is not one."""
    id_, at, by, ops = (record.get(name) for name in ("id", "at", "by", "ops"))
    if record.get("_type") != "batch" or not isinstance(id_, str) or not isinstance(ops, list):
        return None
    a, b, session_id = record.get("a"), record.get("b"), record.get("session_id")
    span = (a, b) if isinstance(a, int) and isinstance(b, int) else None
    events = tuple(e for e in map(_parse_event, ops) if e is not None)
    return Batch(id_, str(at or ""), str(by or ""), events, session_id if isinstance(session_id, str) else None, span)


def _parse_event(op: object) -> Event | None:
    if not isinstance(op, Mapping) or op.get("op") not in OPS:
        return None
    fact_id = op.get("fact")
    if not isinstance(fact_id, str):
        return None
    before, after = (_parse_fact(fact_id, op.get(name)) for name in ("before", "after"))
    undoes = op.get("undoes")
    return Event(
        str(op.get("event") or ""),
        op["op"],
        before,
        after,
        str(op.get("why") or ""),
        undoes if isinstance(undoes, str) else None,
    )


def _parse_fact(fact_id: str, value: object) -> Fact | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
        return None
    sources = value.get("sources")
    texts = tuple(s for s in sources if isinstance(s, str)) if isinstance(sources, list) else ()
    return Fact(fact_id, value["text"], str(value.get("section") or ""), str(value.get("date") or ""), texts)


def replay(batches: Iterable[Batch]) -> dict[str, Fact]:
    """The facts after these batches, by id."""
    state: dict[str, Fact] = {}
    for batch in batches:
        _apply(state, batch)
    return state


def _apply(state: dict[str, Fact], batch: Batch) -> None:
    for event in batch.events:
        if event.after is not None:
            state[event.after.id] = event.after
        elif event.before is not None:
            state.pop(event.before.id, None)


def inverse(event: Event, new_id: str, why: str) -> Event:
    """The event that takes this one back."""
    op = {"added": "removed", "removed": "added"}.get(event.op, event.op)
    return Event(new_id, op, event.after, event.before, why, undoes=event.id)


# --- the file and the journal, brought together ------------------------------------------


@dataclass(frozen=True, slots=True)
class Merged:
    """The document as it should stand, and what a person changed by hand in the file found.

    `restored` are facts that an older version, saved over a newer one, had lost.
    """

    document: Document
    by_hand: tuple[Event, ...]
    restored: tuple[Fact, ...]


def reconciled(found: Document, batches: Sequence[Batch], make_id: Callable[[], str], date: str) -> Merged:
    """The file found, merged with the journal: base, head and what a person wrote."""
    base, head = _base(found, batches), replay(batches)
    document = facts.identified(found, {**base, **head}, date)
    theirs = {fact.id: fact for fact in document.facts}
    events: list[Event] = []
    restored: list[Fact] = []
    for fact_id, fact in theirs.items():
        document = _merge_present(document, fact, base.get(fact_id), head.get(fact_id), events, make_id)
    for fact_id, kept in head.items():
        if fact_id in theirs:
            continue
        if fact_id in base and _says_same(base[fact_id], kept):
            events.append(Event(make_id(), "removed", kept, None, "removed by hand"))
        else:
            document = facts.added(document, kept)
            restored.append(kept)
    return Merged(document, tuple(events), tuple(restored))


def _merge_present(
    document: Document,
    fact: Fact,
    base: Fact | None,
    head: Fact | None,
    events: list[Event],
    make_id: Callable[[], str],
) -> Document:
    """One fact that stands in the file."""
    if head is None:
        if base is not None and _says_same(base, fact):
            return facts.without(document, (fact.id,))
        events.append(Event(make_id(), "added", None, fact, "written by hand"))
    elif _says_same(head, fact):
        pass
    elif base is not None and _says_same(base, fact):
        if head.section == fact.section:
            return facts.replaced(document, head)
        return facts.added(facts.without(document, (head.id,)), head)
    elif head.text == fact.text:
        events.append(Event(make_id(), "moved", head, replace(head, section=fact.section), "moved by hand"))
    else:
        edited = replace(fact, sources=fact.sources or head.sources)
        events.append(Event(make_id(), "replaced", head, edited, "edited by hand"))
    return document


def _says_same(left: Fact, right: Fact) -> bool:
    return left.text == right.text and normalise(left.section) == normalise(right.section)


def _base(found: Document, batches: Sequence[Batch]) -> dict[str, Fact]:
    """The facts of the version that the file derives from.

    The marker names it. Where a person took the marker out, the closest version is taken.
    """
    for at, batch in enumerate(batches):
        if batch.id == found.marker:
            return replay(batches[: at + 1])
    theirs = {f.id: f.text for f in found.facts if f.id}
    if not theirs:
        return {}
    state: dict[str, Fact] = {}
    best, best_distance = 0, len(theirs)
    for at, batch in enumerate(batches, 1):
        _apply(state, batch)
        distance = sum(state[i].text != t if i in state else 1 for i, t in theirs.items())
        distance += sum(i not in theirs for i in state)
        if distance <= best_distance:
            best, best_distance = at, distance
    return replay(batches[:best])
