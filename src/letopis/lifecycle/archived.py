"""Facts that were moved out of the prompt: `memory/facts-archive.md`, searchable, and still facts."""

from collections.abc import Sequence

from letopis.model import facts
from letopis.model.facts import Fact
from letopis.store import Store

NOTE = "memory/facts-archive.md"


def facts_in(store: Store) -> tuple[Fact, ...]:
    """The archived facts."""
    return facts.parse(store.notes.read(NOTE) or "").facts


def add(store: Store, chosen: Sequence[Fact]) -> None:
    """Write facts into the archive; those that stand there already are left as they are."""
    today = store.clock.now().date().isoformat()
    lines = [f"- {fact.text} {fact.comment()}" for fact in chosen]
    mark = f"archived {today} {','.join(fact.id for fact in chosen)}"
    store.notes.add_block(NOTE, mark, f"## {today}", lines, "Archived facts")


def drop(store: Store, fact_id: str) -> None:
    """Take a fact out of the archive."""
    store.notes.drop_line(NOTE, f"<!-- f:{fact_id} ")


def drop_known(store: Store) -> None:
    """Take out of the archive what stands among the facts again."""
    there = {facts.comparable(fact.text) for fact in store.facts.view().facts}
    for fact in facts_in(store):
        if facts.comparable(fact.text) in there:
            drop(store, fact.id)
