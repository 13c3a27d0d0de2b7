"""Which units a query may see at all, and what else it tells of the units that it means."""

from datetime import date

import numpy as np

from letopis.index import rank
from letopis.index.rank import Bools, Floats
from letopis.index.snapshot import Snapshot, Source
from letopis.model import answers, asking
from letopis.model.search import Query
from letopis.model.text import stems

HALF_LIFE = 90  # days
Hints = dict[str, tuple[float, Bools | Floats]]


def allowed(corpus: Snapshot, query: Query) -> Bools:
    """The units that every filter of the query lets through."""
    seen = corpus.of_sources(lambda source: _source_fits(source, query))
    if query.kind is not None:
        seen &= corpus.those("kind", lambda kind: kind == query.kind)
    if query.since is not None or query.until is not None:
        since, until = query.since or "", query.until or "9999"
        seen &= corpus.those("day", lambda day: since <= day <= until and day != "")
    if query.exclude is not None:
        session_id, _, n = query.exclude.partition("#")
        own = corpus.of_sources(lambda source: source.session_id == session_id)
        seen &= ~(own & (corpus.positions == int(n or 0)))
    return seen


def _source_fits(source: Source, query: Query) -> bool:
    if query.scope != "all" and source.origin != query.scope.removesuffix("s"):
        return False
    if query.path is not None and not _stands_at(source.name, query.path):
        return False
    if query.within is not None and source.key != query.within:
        return False
    if query.key is not None and source.key != query.key:
        return False
    if query.session_id is not None and source.session_id != query.session_id:
        return False
    return query.persona is None or source.persona == query.persona


def _stands_at(name: str, path: str) -> bool:
    return name.startswith(path) if path.endswith("/") else name == path


def hints(corpus: Snapshot, question: str, today: date) -> Hints:
    """Whose words, in which role, and of which time the question speaks: name → (weight, units)."""
    out: Hints = {}
    if names := named(corpus, question):
        out["speaker"] = rank.SPEAKER, corpus.those("speaker", lambda name: name in names)
    if asking.of_the_assistant(question):
        out["role"] = rank.ROLE, corpus.those("role", lambda role: role == "assistant")
    elif asking.first_person(question):
        out["role"] = rank.ROLE, corpus.those("role", lambda role: role == "user")
    if spans := asking.spans(question, today):
        out["date"] = rank.DATE, corpus.those("day", lambda day: _within(day, spans))
    if expected := answers.expected(question):
        weight = rank.TIME if expected == "time" else rank.NUMBER
        out["answer"] = weight, corpus.those("gives", lambda gives: expected[0] in gives)
    return out


def recency(corpus: Snapshot, weight: float, today: date) -> Hints:
    """What each unit gains for being new; undated ones gain nothing."""
    if not weight:
        return {}
    by_text = np.array([_freshness(text, today) for text in corpus.vocabulary.texts], np.float32)
    return {"recency": (weight, by_text[corpus.numbers("day")])}


def _freshness(day: str, today: date) -> float:
    try:
        age = (today - date.fromisoformat(day)).days
    except ValueError:
        return 0.0
    return float(0.5 ** (max(0, age) / HALF_LIFE))


def named(corpus: Snapshot, question: str) -> list[str]:
    """The speakers that a question names."""
    asked = set(stems(question))
    return [name for name in corpus.speaker_names if asked.intersection(stems(name))]


def _within(day: str, spans: list[asking.Span]) -> bool:
    try:
        moment = date.fromisoformat(day)
    except ValueError:
        return False
    return any(span.holds(moment) for span in spans)
