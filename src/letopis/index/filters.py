"""Which units a query may see at all, and which lie in the time it speaks of."""

from collections.abc import Sequence
from datetime import date

import numpy as np

from letopis.index.rank import Bools
from letopis.index.snapshot import Snapshot, Source, Texts
from letopis.model.asking import Span
from letopis.model.search import Query


def allowed(corpus: Snapshot, query: Query) -> Bools:
    """The units that every filter of the query lets through."""
    sources = [number for number, source in corpus.sources.items() if _source_fits(source, query)]
    seen = np.isin(corpus.unit_source, np.array(sources, np.int64))
    if query.kind is not None:
        seen &= corpus.column("kind") == query.kind
    if query.since is not None:
        seen &= corpus.days >= query.since
    if query.until is not None:
        seen &= (corpus.days <= query.until) & (corpus.days != "")
    if query.exclude is not None:
        session_id, _, n = query.exclude.partition("#")
        own = [number for number, source in corpus.sources.items() if source.session_id == session_id]
        numbers = corpus.columns.position[corpus.unit_order]
        seen &= ~(np.isin(corpus.unit_source, np.array(own, np.int64)) & (numbers == int(n or 0)))
    return seen


def _source_fits(source: Source, query: Query) -> bool:
    wanted = "note" if query.scope == "notes" else "transcript"
    if query.scope != "all" and source.origin != wanted:
        return False
    if query.path is not None and source.name != query.path:
        return False
    if query.within is not None and source.key != query.within:
        return False
    if query.key is not None and source.key != query.key:
        return False
    if query.session_id is not None and source.session_id != query.session_id:
        return False
    return query.persona is None or source.persona == query.persona


def within_spans(days: Texts, spans: Sequence[Span]) -> Bools:
    """Whether the day of each unit lies in one of the spans."""
    out = np.zeros(len(days), bool)
    if not spans:
        return out
    for day in set(days.tolist()):
        try:
            moment = date.fromisoformat(day)
        except ValueError:
            continue
        if any(span.holds(moment) for span in spans):
            out |= days == day
    return out
