"""Asks the whole memory a question in several ways, and brings back the evidence."""

from collections.abc import Sequence

from letopis.errors import ModelError
from letopis.index import Index
from letopis.lifecycle import material
from letopis.llm import ChatModel, ToolSpec
from letopis.llm.structured import Form, ask
from letopis.model import evidence, payloads, secrets, thread
from letopis.model.evidence import Pack, Quote, Way
from letopis.model.search import Hit, Query
from letopis.model.text import content_stems
from letopis.short_term import look_up
from letopis.store import Store

MOST_QUOTES = 16
_HITS, _LOOKED_WITHIN = 8, 1_500
_COPIES = ("raw", "digest")  # notes that repeat messages word for word
FORM: Form[tuple[str, ...]] = Form(
    ToolSpec("other_words", "Say a question in other words.", payloads.schema_of(payloads.OtherWordsForm)),
    payloads.parse_other_words,
)


def research(
    store: Store,
    index: Index,
    question: str,
    model: ChatModel | None = None,
    session_id: str | None = None,
    within: str | None = None,
    before: int = 1 << 62,
) -> Pack:
    """The evidence on a question from anchors and history of a session, and from notes and transcripts.

    `within` is the key that a shared conversation is held to; `before` is the number of the message
    in `session_id` that asks, which answers nothing.
    """
    more, problems = _other_words(store, model, question) if model is not None else ((), [])
    asked = evidence.ways(question, more)
    found: dict[str, Sequence[Quote]] = {}
    for way in asked:
        quotes, trouble = _searched(index, way, session_id, within, before)
        found[f"{way.why}: {way.text}"] = quotes
        problems += trouble
    if session_id:
        found["anchors"] = _in_anchors(store, session_id, question)
        found["this conversation"] = _in_session(store, index, session_id, question, before)
    told = {way: [q for q in own if not evidence.only_asks(q.text, question)] for way, own in found.items()}
    quotes = evidence.merged(told, MOST_QUOTES)
    return Pack(
        question,
        tuple(asked),
        tuple(quotes),
        tuple(evidence.missing(question, quotes)),
        tuple(evidence.contradictions(question, quotes)),
        tuple(dict.fromkeys(problems)),
    )


def _searched(
    index: Index, way: Way, session_id: str | None, within: str | None, before: int
) -> tuple[list[Quote], list[str]]:
    """What the search finds: notes and messages each by themselves, so that neither hides the other."""
    quotes: list[Quote] = []
    problems: list[str] = []
    itself = f"{session_id}#{before}" if session_id else None
    for scope in ("notes", "transcripts", "experience"):
        query = Query(way.text, scope, _HITS, since=way.since, until=way.until, within=within, exclude=itself)
        answer = index.search(query)
        quotes += [_quote(hit) for hit in answer.hits if not hit.superseded and hit.kind not in _COPIES]
        problems += answer.problems if answer.status in ("error", "degraded", "stale") else ()
    return quotes, problems


def _quote(hit: Hit) -> Quote:
    return Quote(hit.source, hit.date, hit.kind, hit.text)


def _in_anchors(store: Store, session_id: str, question: str) -> list[Quote]:
    """The newest value of each item that the session's anchors hold on the question."""
    asked = set(content_stems(question))
    transcript = store.sessions.transcript(session_id)
    entries = [e for e in thread.at(transcript, transcript.last_n).entries if asked & set(content_stems(e.item.text))]
    entries.sort(key=lambda e: (-len(asked & set(content_stems(e.item.text))), -e.item.n))
    quotes = []
    for entry in entries[:_HITS]:
        message = transcript.message(entry.item.n)
        day = message.timestamp[:10] if message is not None else ""
        quotes.append(Quote(f"{session_id}#{entry.item.n}", day, "anchor", secrets.redact(entry.item.text)))
    return quotes


def _in_session(store: Store, index: Index, session_id: str, question: str, before: int) -> list[Quote]:
    found = look_up(store, index, session_id, question, _LOOKED_WITHIN, before)
    return [Quote(f"{session_id}{line.source}", line.timestamp[:10], "message", line.text) for line in found.lines]


def _other_words(store: Store, model: ChatModel, question: str) -> tuple[tuple[str, ...], list[str]]:
    """How else the question may be asked; where the model fails it is asked as it is."""
    request = [
        {"role": "system", "content": material.prompt("other_words")},
        {"role": "user", "content": question},
    ]
    try:
        answer = ask(
            model, request, FORM, lambda _: [], lambda r: material.note_usage(store, "research", model.name, r)
        )
    except ModelError as error:
        return (), [f"asked in its own words only: {error}"]
    return answer.payload, []
