"""From proposed operations to events: what each would change, or why it is refused."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from letopis.model import dates, explicit, facts, guards
from letopis.model.facts import Document, Fact
from letopis.model.journal import Event
from letopis.model.messages import Message
from letopis.model.proposals import Operation
from letopis.model.text import content_stems, overlap

SIMILAR = 0.6
LONGEST_SECTION = 60


@dataclass(frozen=True, slots=True)
class Evidence:
    """The messages that operations may cite, by number, and the session they belong to."""

    session_id: str
    messages: Mapping[int, Message]

    def cited(self, numbers: Sequence[int]) -> list[Message]:
        """Those of the cited messages that a person or the assistant said."""
        return [m for n in numbers if (m := self.messages.get(n)) is not None and m.spoken]

    def around(self, numbers: Sequence[int]) -> list[Message]:
        """The cited messages and their neighbours, said by a person or the assistant."""
        wanted = {n + shift for n in numbers for shift in range(-guards.NEIGHBOURS, guards.NEIGHBOURS + 1)}
        return [m for n, m in sorted(self.messages.items()) if n in wanted and m.spoken]


@dataclass(slots=True)
class Decided:
    """What came of the operations: events to apply, facts already known, and refusals."""

    events: list[Event] = field(default_factory=list)
    known: list[Fact] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Decider:
    """Turns operations into events against the facts as they stand.

    `trusted` is a person's own word: only the form of the text is checked.
    """

    document: Document
    evidence: Evidence
    date: str
    make_id: Callable[[], str]
    trusted: bool = False
    decided: Decided = field(default_factory=Decided)
    state: dict[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = {fact.id: fact for fact in self.document.facts if fact.id}

    def take(self, operations: Sequence[Operation]) -> Decided:
        """Decide them all; a batch that would lose too much is refused as a whole."""
        before = len(self.state)
        for operation in operations:
            reason = self._one(operation)
            if reason:
                what = operation.text or operation.fact
                self.decided.refused.append(f"{operation.op} {what[:80]!r}: {reason}")
        lost = sum(_loses(event) for event in self.decided.events)
        if not self.trusted and facts.loses_too_much(before, lost):
            refusal = f"{lost} of {before} facts would go at once; only a person may remove so many"
            self.decided = Decided(known=self.decided.known, refused=[*self.decided.refused, refusal])
        return self.decided

    def _one(self, operation: Operation) -> str:
        if operation.op == "remove":
            return self._remove(operation)
        text = facts.clean(operation.text)
        reason = guards.form(text) if self.trusted else self._proposed(text, operation)
        if reason:
            return reason
        cited = self.evidence.cited(operation.source)
        sources = tuple(f"{self.evidence.session_id}#{m.n}" for m in cited)
        text = _with_days(text, cited)
        section = self._section(operation.section)
        if operation.op == "add":
            fresh = facts.new_id(text, self.state)
            return self._add(Fact(fresh, text, section, self.date, sources), operation.reason)
        return self._replace(operation, text, sources)

    def _section(self, proposed: str) -> str:
        """A heading to put the fact under; what is no plain heading counts as none."""
        section = facts.clean(proposed)
        odd = len(section) > LONGEST_SECTION or guards.form(section)
        return "" if odd or (not self.trusted and guards.form_of_proposed(section)) else section

    def _proposed(self, text: str, operation: Operation) -> str:
        cited = self.evidence.cited(operation.source)
        return guards.form_of_proposed(text) or guards.support(text, cited, self.evidence.around([m.n for m in cited]))

    def _add(self, fact: Fact, why: str) -> str:
        wanted = facts.comparable(fact.text)
        for known in self.state.values():
            if facts.comparable(known.text) == wanted:
                self.decided.known.append(known)
                return ""
        rival = contradicted(fact.text, self.state.values())
        if rival is not None:
            section = fact.section or rival.section
            return self._put(rival, replace(fact, id=rival.id, section=section), why or "a newer statement")
        return self._put(None, fact, why)

    def _replace(self, operation: Operation, text: str, sources: tuple[str, ...]) -> str:
        target = find(operation.fact, self.state.values())
        if isinstance(target, str):
            return target
        if facts.comparable(target.text) == facts.comparable(text):
            self.decided.known.append(target)
            return ""
        if any(f.id != target.id and facts.comparable(f.text) == facts.comparable(text) for f in self.state.values()):
            return "another fact says this already; remove this one instead"
        fact = Fact(target.id, text, target.section, self.date, sources)
        return self._put(target, fact, operation.reason or "replaced")

    def _put(self, before: Fact | None, after: Fact, why: str) -> str:
        self.state[after.id] = after
        op = "replaced" if before else "added"
        self.decided.events.append(Event(self.make_id(), op, before, after, why))
        return ""

    def _remove(self, operation: Operation) -> str:
        target = find(operation.fact or operation.text, self.state.values())
        if isinstance(target, str):
            return target
        if not self.trusted and not self.evidence.cited(operation.source):
            return "a removal must cite the message that asks for it"
        del self.state[target.id]
        self.decided.events.append(Event(self.make_id(), "removed", target, None, operation.reason))
        return ""


def _with_days(text: str, cited: Sequence[Message]) -> str:
    """The fact with its relative days written out, from the day of the message that tells it."""
    try:
        return dates.anchored(text, date.fromisoformat(cited[0].timestamp[:10])) if cited else text
    except ValueError:
        return text


def _loses(event: Event) -> bool:
    """Whether a change does away with what a fact said: a removal, or a replacement by something else."""
    if event.before is None or event.after is None:
        return event.op == "removed"
    return overlap(content_stems(event.before.text), content_stems(event.after.text)) == 0


def find(reference: str, known: Iterable[Fact]) -> Fact | str:
    """The one fact meant by an id or by its text; otherwise why there is no such one."""
    candidates = list(known)
    wanted = reference.strip().removeprefix("f:")
    exact = [f for f in candidates if f.id == wanted]
    exact = exact or [f for f in candidates if facts.comparable(f.text) == facts.comparable(wanted)]
    if len(exact) == 1:
        return exact[0]
    close = matching(wanted, candidates)
    shown = "; ".join(f"{f.id} {f.text[:60]!r}" for f in close[:5])
    return f"no fact is exactly {wanted[:60]!r}" + (f"; close ones: {shown}" if shown else "")


def matching(words: str, known: Sequence[Fact]) -> list[Fact]:
    """The facts that a person may mean: all that hold every word told, else the likest ones."""
    wanted = set(content_stems(words))
    if not wanted:
        return []
    whole = [f for f in known if wanted <= set(content_stems(f.text))]
    if whole:
        return whole
    scored = [(overlap(wanted, content_stems(f.text)), f) for f in known]
    return [f for score, f in sorted(scored, key=lambda pair: -pair[0]) if score >= 0.34]


def contradicted(text: str, known: Iterable[Fact]) -> Fact | None:
    """The fact that gives another value to the same single-valued attribute, if there is one."""
    attribute = explicit.attribute(text)
    if attribute is None:
        return None
    for fact in known:
        other = explicit.attribute(fact.text)
        if other is not None and other[0] == attribute[0] and other[1] != attribute[1]:
            return fact
    return None


def from_whole_file(text: str, document: Document, evidence: Evidence) -> list[Operation]:
    """The operations that a whole new file amounts to; each new fact cites its likeliest source."""
    new = facts.parse(text)
    old = {facts.comparable(f.text): f for f in document.facts}
    kept = {facts.comparable(f.text) for f in new.facts} & set(old)
    gone = [f for key, f in old.items() if key not in kept]
    out: list[Operation] = []
    for fact in new.facts:
        if facts.comparable(fact.text) in kept:
            continue
        source = _likeliest(fact.text, evidence)
        likest = max(gone, key=lambda old_fact: _alike(old_fact.text, fact.text), default=None)
        if likest is not None and _alike(likest.text, fact.text) >= SIMILAR:
            gone.remove(likest)
            out.append(Operation(op="replace", fact=likest.id, text=fact.text, source=source))
        else:
            out.append(Operation(op="add", text=fact.text, section=fact.section, source=source))
    newest = max((n for n, m in evidence.messages.items() if m.spoken), default=0)
    out.extend(Operation(op="remove", fact=f.id, source=(newest,), reason="left out of the new file") for f in gone)
    return out


def _alike(left: str, right: str) -> float:
    return difflib.SequenceMatcher(None, content_stems(left), content_stems(right)).ratio()


def _likeliest(text: str, evidence: Evidence) -> tuple[int, ...]:
    wanted = set(content_stems(text))
    scored = [(len(wanted & set(content_stems(m.text))), n) for n, m in evidence.messages.items() if m.spoken]
    best = max(scored, default=(0, 0))
    return (best[1],) if best[0] else ()
