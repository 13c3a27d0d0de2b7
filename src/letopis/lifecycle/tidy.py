"""Makes `MEMORY.md` small again: near-duplicates are merged, and what matters least is archived.

Archived facts move to `memory/facts-archive.md`: searchable, and no longer in every prompt. The
note is written first, then the journal, so nothing is ever in neither. Each step can be undone.
"""

from collections.abc import Callable, Sequence

from letopis.errors import ModelError
from letopis.lifecycle import archived, material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import payloads, tidying
from letopis.model.facts import Document, Fact
from letopis.model.journal import Event
from letopis.model.tidying import Proposal
from letopis.store import Store
from letopis.store.facts import new_event_id

Decide = Callable[[Sequence[Fact]], list[Event]]
ARCHIVED = "archived"
FORM: Form[Proposal] = Form(
    ToolSpec("tidy_memory", "Tidy the long-term memory.", payloads.schema_of(payloads.TidyForm)), payloads.parse_tidy
)


def is_due(store: Store) -> bool:
    """Whether the facts take more of every prompt than they may."""
    limit = store.settings.memory.max_tokens
    view = store.facts.view()
    return limit > 0 and not view.problem and tidying.size(view.facts) > limit


def tidy(store: Store, model: ChatModel | None) -> list[Event]:
    """Merge and archive until the facts are well within their limit; what was done."""
    limit = int(store.settings.memory.max_tokens * tidying.LEFT)
    done = _changed(store, lambda facts: tidying.duplicates(facts, new_event_id))
    if tidying.size(store.facts.view().facts) > limit and model is not None:
        proposal = _proposed(store, model)
        done += _changed(store, lambda facts: tidying.merges(proposal, {f.id: f for f in facts}, new_event_id)[0])
        meant = set(proposal.archive)
        done += _archived(store, [f for f in _movable(store) if f.id in meant], limit)
    told = tidying.uses(store.facts.batches())
    whole = tidying.size(store.facts.view().facts)
    done += _archived(store, tidying.least_useful(_movable(store), told, limit, whole), limit)
    return done


def _movable(store: Store, document: Document | None = None) -> list[Fact]:
    facts = document.facts if document is not None else store.facts.view().facts
    return tidying.movable(facts, store.facts.batches())


def _changed(store: Store, decide: Decide) -> list[Event]:
    batch = store.facts.change("tidy", lambda document: decide(_movable(store, document)))
    return list(batch.events)


def _archived(store: Store, facts: Sequence[Fact], limit: int) -> list[Event]:
    """Move facts to the archive until the rest is within the limit."""
    over = tidying.size(store.facts.view().facts) - limit
    chosen: list[Fact] = []
    for fact in facts:
        if over > 0:
            chosen.append(fact)
            over -= tidying.size([fact])
    if not chosen:
        return []
    archived.add(store, chosen)
    wanted = {fact.id: fact for fact in chosen}

    def decide(movable: Sequence[Fact]) -> list[Event]:
        same = [fact for fact in movable if wanted.get(fact.id) == fact]
        return [Event(new_event_id(), "moved", fact, None, ARCHIVED) for fact in same]

    return _changed(store, decide)


def _proposed(store: Store, model: ChatModel) -> Proposal:
    movable = {fact.id: fact for fact in _movable(store)}
    listed = "\n".join(f"- [{fact.id}] {fact.date} {fact.text}" for fact in movable.values())
    request = [
        {"role": "system", "content": material.prompt("tidy")},
        {"role": "user", "content": f"<<<facts\n{listed.replace('>>>', '›››')}\nfacts>>>"},
    ]

    def check(proposal: Proposal) -> list[str]:
        return tidying.merges(proposal, movable, new_event_id)[1]

    try:
        return ask(model, request, FORM, check, lambda r: material.note_usage(store, "tidy", model.name, r)).payload
    except ModelError:
        return Proposal()  # what the model cannot do now is done by age and use


def undo(store: Store, event_id: str, by: str) -> Event:
    """Take one change of the facts back; a fact that was archived leaves the archive. Raises FactRefused."""
    done = store.facts.undo(event_id, by)
    if done.op == "moved" and done.before is None and done.after is not None:
        archived.drop(store, done.after.id)
    return done
