"""What may be merged and what may leave the prompt when `MEMORY.md` is too large.

Facts that a person wrote by hand are never touched. A merged fact keeps every name and figure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from letopis.model import explicit, figures, guards, tokens
from letopis.model.facts import Fact
from letopis.model.journal import Batch, Event
from letopis.model.text import content_stems, negated

_BY_HAND = ("written by hand", "edited by hand")
LEFT = 0.8  # what is left after tidying, of the limit


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model proposes: groups of ids with the sentence that replaces them, and ids to archive."""

    merge: tuple[tuple[tuple[str, ...], str], ...] = ()
    archive: tuple[str, ...] = ()


def size(facts: Iterable[Fact]) -> int:
    """Tokens that the facts take in a prompt."""
    return sum(tokens.estimate(f"- {fact.text}\n") for fact in facts)


def movable(facts: Sequence[Fact], batches: Iterable[Batch]) -> list[Fact]:
    """The facts that a person did not write or edit by hand."""
    by_hand: dict[str, bool] = {}
    for batch in batches:
        for event in batch.events:
            if event.op in ("added", "replaced"):
                by_hand[event.fact_id] = by_hand.get(event.fact_id, False) or event.why in _BY_HAND
    return [fact for fact in facts if by_hand.get(fact.id) is False]


def uses(batches: Iterable[Batch]) -> dict[str, int]:
    """How often each fact was told or changed."""
    out: dict[str, int] = {}
    for batch in batches:
        for event in batch.events:
            out[event.fact_id] = out.get(event.fact_id, 0) + 1
    return out


def duplicates(facts: Sequence[Fact], make_id: Callable[[], str]) -> list[Event]:
    """The removals of facts whose words a newer one has too, in any order, and what the newer one gains."""
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for fact in sorted(facts, key=lambda f: (f.date, f.id)):
        said = frozenset(content_stems(fact.text)), frozenset(figures.meant(fact.text))
        groups.setdefault((*said, negated(fact.text), explicit.attribute(fact.text)), []).append(fact)
    alike = (group for group in groups.values() if len(group) > 1)
    return [event for group in alike for event in _merged(group[:-1], group[-1], group[-1].text, make_id)]


def _merged(gone: Sequence[Fact], kept: Fact, text: str, make_id: Callable[[], str]) -> list[Event]:
    """One fact takes over the sources of others, which are removed."""
    sources = tuple(dict.fromkeys([*kept.sources, *(s for fact in gone for s in fact.sources)]))
    after = replace(kept, text=text, sources=sources)
    removals = [Event(make_id(), "removed", fact, None, f"merged into {kept.id}") for fact in gone]
    return [*removals, Event(make_id(), "replaced", kept, after, "merged")]


def merges(proposal: Proposal, facts: Mapping[str, Fact], make_id: Callable[[], str]) -> tuple[list[Event], list[str]]:
    """The merges of a proposal that keep every name and figure, and why the others are refused."""
    events: list[Event] = []
    refused: list[str] = []
    free = dict(facts)
    for ids, text in proposal.merge:
        group = [free[id_] for id_ in dict.fromkeys(ids) if id_ in free]
        reason = _refusal(text, group)
        if reason:
            refused.append(f"merge of {', '.join(ids)}: {reason}")
            continue
        group.sort(key=lambda f: (f.date, f.id))
        events += _merged(group[:-1], group[-1], text.strip(), make_id)
        for fact in group:
            del free[fact.id]
    return events, refused


def _refusal(text: str, group: Sequence[Fact]) -> str:
    if len(group) < 2:
        return "it needs two facts that may be moved"
    said = "\n".join(fact.text for fact in group)
    reason = guards.form_of_proposed(text)
    if reason:
        return reason
    missing = guards.unsupported(text, said)
    if missing:
        return f"{missing!r} does not stand in these facts"
    lost = next(filter(None, (guards.unsupported(fact.text, text) for fact in group)), "")
    if lost:
        return f"{lost!r} would be lost"
    return "" if negated(text) == negated(said) else "it would deny or affirm something else"


def least_useful(facts: Sequence[Fact], told: Mapping[str, int], limit: int, whole: int) -> list[Fact]:
    """The oldest and least told facts, so many that the whole comes within the limit."""
    out: list[Fact] = []
    for fact in sorted(facts, key=lambda f: (told.get(f.id, 0) + len(f.sources) > 2, f.date)):  # the first told first
        if whole <= limit:
            break
        whole -= size([fact])
        out.append(fact)
    return out
