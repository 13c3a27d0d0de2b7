"""Facts that a person tells in so many words: kept at once, with or without a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from letopis.errors import FactChanged, FactRefused, NoSingleMatch
from letopis.lifecycle import archived
from letopis.lifecycle.shared import is_shared_key
from letopis.model import facts, guards, secrets
from letopis.model.facts import Document, Fact
from letopis.model.journal import Event
from letopis.model.proposals import Operation
from letopis.model.text import content_stems, negated
from letopis.model.update import Decider, Evidence, find, matching
from letopis.store import Store
from letopis.store.facts import new_event_id
from letopis.store.transcripts import Appended

_POINTING = frozenset(content_stems("this that it об этом это этого том тем ней нем них all всё все everything"))


@dataclass(frozen=True, slots=True)
class Kept:
    """A fact was added, or took the place of another (`before`)."""

    fact: Fact
    before: Fact | None
    event: str


@dataclass(frozen=True, slots=True)
class Known:
    """The fact was there already."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class Removed:
    """A fact was removed; `event` takes it back."""

    fact: Fact
    event: str


def remember(store: Store, text: str, key: str, section: str = "") -> Kept | Known:
    """Keep a fact told outside a conversation: the words are stored under `key` and cited.

    Raises FactRefused for what cannot be a fact; then nothing was stored.
    """
    stored = _told(store, text, key)
    return keep(store, text, stored.session_id, stored.n, section)


def replace_fact(store: Store, fact: str, text: str, key: str, expected: Fact | None = None) -> Kept | Known:
    """Put a new text in the place of the fact that is meant; the words are stored under `key` and cited.

    Raises FactRefused, NoSingleMatch where none or several are meant, and FactChanged.
    """
    meant = single(fact, store.facts.view().facts)
    _check_unchanged(meant, expected)
    stored = _told(store, text, key)
    return keep(store, text, stored.session_id, stored.n, replaces=meant.id, expected=expected)


def _check_unchanged(now: Fact, expected: Fact | None) -> None:
    if expected is not None and (now.text, now.section) != (expected.text, expected.section):
        raise FactChanged(f"fact {now.id} was changed meanwhile; read it again")


def _told(store: Store, text: str, key: str) -> Appended:
    if is_shared_key(store, key):
        raise FactRefused(f"{key!r} is shared by several people; nothing told there becomes a fact")
    reason = guards.form(facts.clean(text))
    if reason:
        raise FactRefused(f"{secrets.redact(text[:80])!r} was not kept: {reason}")
    return store.transcripts.append(key, {"role": "user", "content": text})


def keep(
    store: Store,
    text: str,
    session_id: str,
    n: int,
    section: str = "",
    replaces: str = "",
    expected: Fact | None = None,
) -> Kept | Known:
    """Keep a fact that message `session_id#n` of a person tells. Raises FactRefused and FactChanged."""
    message = next((m for m in store.sessions.transcript(session_id).messages if m.n == n), None)
    evidence = Evidence(session_id, {n: message} if message else {})
    operation = Operation(op="add", text=text, section=section, source=(n,), reason="told by a person")
    known: list[Fact] = []

    def decide(document: Document) -> Sequence[Event]:
        today = store.clock.now().date().isoformat()
        wanted = operation
        if replaces:
            meant = single(replaces, document.facts)
            _check_unchanged(meant, expected)
            wanted = replace(operation, op="replace", fact=meant.id)
        decided = Decider(document, evidence, today, new_event_id, trusted=True).take([wanted])
        if decided.refused:
            raise FactRefused(f"{secrets.redact(text[:80])!r} was not kept: {decided.refused[0].rpartition(': ')[2]}")
        known.extend(decided.known)
        return decided.events

    batch = store.facts.change("person", decide, session_id)
    if not batch.events:
        return Known(known[0])
    event = batch.events[0]
    assert event.after is not None
    archived.drop_known(store)
    return Kept(event.after, event.before, event.id)


def exchange(store: Store, old: str, text: str, session_id: str, n: int) -> Kept | Known:
    """Put a new fact in the place of the one that `old` means; message `session_id#n` tells it.

    Raises NoSingleMatch, with the candidates, where `old` means none or several: then nothing has changed.
    """
    return keep(store, text, session_id, n, replaces=old)


def forget(
    store: Store,
    words: str,
    why: str = "asked to forget",
    session_id: str | None = None,
    expected: Fact | None = None,
) -> Removed:
    """Remove the one fact that the words mean, by id, by its text or by what it holds.

    Raises NoSingleMatch, with the candidates, where they fit none or several.
    """

    def decide(document: Document) -> Sequence[Event]:
        try:
            fact = single(words, document.facts)
        except NoSingleMatch as error:
            try:
                fact = single(words, archived.facts_in(store))
            except NoSingleMatch:
                raise error from None
        _check_unchanged(fact, expected)
        return [Event(new_event_id(), "removed", fact, None, why)]

    removed = _removed(store, decide, session_id)
    archived.drop(store, removed.fact.id)
    return removed


def _removed(store: Store, decide: Callable[[Document], Sequence[Event]], session_id: str | None) -> Removed:
    event = store.facts.change("person", decide, session_id).events[0]
    assert event.before is not None
    return Removed(event.before, event.id)


def single(words: str, known: Sequence[Fact]) -> Fact:
    """The one fact that the words mean. Raises NoSingleMatch."""
    if not set(content_stems(words)) - _POINTING:
        raise NoSingleMatch(f"{words[:80]!r} names no fact; nothing was changed", [])
    exact = find(words, known)
    if isinstance(exact, Fact):
        return exact
    close = matching(words, known)
    whole = [f for f in close if facts.comparable(words) in facts.comparable(f.text)]
    whole = [f for f in whole if negated(words) == negated(f.text)]
    for found in (whole, close):
        if len(found) == 1 and (found is whole or _nearly(words, found[0])):
            return found[0]
    candidates = [f"{f.id} {f.text}" for f in close[:10]]
    raise NoSingleMatch(
        f"no single fact is meant by {words[:80]!r}; nothing was changed"
        + (". Close ones: " + "; ".join(candidates) if candidates else ""),
        candidates,
    )


def _nearly(words: str, fact: Fact) -> bool:
    """Whether all that the person said stands in the fact."""
    asked, said = set(content_stems(words)), set(content_stems(fact.text))
    return asked <= said and negated(words) == negated(fact.text)
