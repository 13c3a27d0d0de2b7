"""Search by reading everything: normalised words, weighted by how rare they are.

Knows no database. It is exact and needs nothing, and it is what later indexes are measured
against.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from letopis.errors import StoreError
from letopis.model import blocks, secrets, summary
from letopis.model.search import Found, Hit, Query
from letopis.model.session import SessionLine
from letopis.model.text import STOP_WORDS, normalise, shorten, stem, words
from letopis.store import Store
from letopis.store.notes import Note, Skipped

_SHOWN = 900
_MAX_QUERY_WORDS = 64
_PHRASE = re.compile(r'"([^"]+)"|«([^»]+)»|“([^”]+)”')
_UNSEGMENTED = re.compile(r"[぀-ヿ㐀-鿿가-힯ก-๛]")
_SEARCHED_ROLES = ("user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The query as it is matched: rare parts count more; phrases must stand as they are."""

    parts: tuple[str, ...]
    substrings: tuple[str, ...]
    phrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    hit: Hit
    parts: frozenset[str]


def search(store: Store, query: Query) -> Found:
    """What the memory holds on the query, best first. Never raises for any text."""
    wanted = _wanted(query.text)
    if not wanted.parts and not wanted.substrings:
        return Found("empty", problems=("the query holds nothing to look for",))
    problems: list[str] = []
    candidates: list[_Candidate] = []
    seen, counts = 0, Counter[str]()
    for hit in _everything(store, query, problems):
        if hit.source == query.exclude:
            continue
        seen += 1
        parts = _matched(hit.text, wanted)
        if parts is not None:
            counts.update(parts)
            candidates.append(_Candidate(hit, parts))
    hits = _ranked(candidates, wanted, seen, counts)
    status = "degraded" if problems else "ok" if hits else "empty"
    relaxed = bool(hits) and len(hits[0].matched) < len({*wanted.parts, *wanted.substrings})
    return Found(status, tuple(hits[: max(0, query.k)]), len(hits), relaxed, tuple(problems))


def _wanted(text: str) -> _Wanted:
    tokens = list(dict.fromkeys(words(text[:20_000])))[:_MAX_QUERY_WORDS]
    meant = [t for t in tokens if t not in STOP_WORDS] or tokens
    substrings = [t for t in meant if _UNSEGMENTED.search(t)]
    parts = dict.fromkeys(stem(t) for t in meant if t not in substrings)
    if not tokens and normalise(text).strip():
        substrings = [visible] if (visible := "".join(c for c in normalise(text) if c.isprintable()).strip()) else []
    phrases = [normalise(next(filter(None, groups))) for groups in _PHRASE.findall(text)]
    return _Wanted(tuple(parts), tuple(substrings), tuple(phrases))


def _matched(text: str, wanted: _Wanted) -> frozenset[str] | None:
    """Which parts of the query a text has; None where it has none, or lacks a quoted phrase."""
    folded = normalise(text)
    if any(phrase not in folded for phrase in wanted.phrases):
        return None
    own = {stem(word) for word in words(text)}
    parts = {p for p in wanted.parts if p in own} | {s for s in wanted.substrings if s in folded}
    return frozenset(parts) if parts else None


def _ranked(candidates: list[_Candidate], wanted: _Wanted, seen: int, counts: Counter[str]) -> list[Hit]:
    weights = {part: math.log(1 + seen / (1 + counts[part])) for part in (*wanted.parts, *wanted.substrings)}
    whole = sum(weights.values()) or 1.0
    scored = []
    for candidate in candidates:
        cover = sum(weights[part] for part in candidate.parts) / whole
        length = 1 / (1 + len(candidate.hit.text) / 2000)
        scored.append((cover**1.5 + 0.1 * length, candidate))
    scored.sort(key=lambda pair: (-pair[0], _inverted(pair[1].hit.date), pair[1].hit.source))
    return [_shown(candidate, score) for score, candidate in scored]


def _inverted(date: str) -> tuple[int, ...]:
    """Newer first."""
    return tuple(-ord(char) for char in date)


def _shown(candidate: _Candidate, score: float) -> Hit:
    hit = candidate.hit
    text = secrets.redact(_around(hit.text, candidate.parts))
    fields = {name: getattr(hit, name) for name in Hit.__dataclass_fields__}
    return Hit(**{**fields, "text": text, "score": score, "matched": tuple(sorted(candidate.parts))})


def _around(text: str, parts: frozenset[str]) -> str:
    """The part of a long text where it first matches."""
    if len(text) <= _SHOWN:
        return text
    for match in re.finditer(r"[^\W_]+", text):
        if stem(normalise(match[0])) in parts:
            start = max(0, match.start() - _SHOWN // 3)
            return ("…" if start else "") + shorten(text[start:], _SHOWN)
    return shorten(text, _SHOWN)


def _everything(store: Store, query: Query, problems: list[str]) -> Iterator[Hit]:
    if query.scope in ("notes", "all"):
        for note in store.notes.searchable(store.settings.vector_memory.max_file_bytes):
            if isinstance(note, Skipped):
                problems.append(f"{note.name} was left out: {note.reason}")
            else:
                yield from _of_note(note, query)
    if query.scope in ("transcripts", "all"):
        for line in store.sessions.all():
            if _session_fits(line, query):
                yield from _of_session(store, line, query, problems)


def _of_note(note: Note, query: Query) -> Iterator[Hit]:
    fields = summary.header_fields(note.text)
    key = fields.get("Session Key", "")
    if query.within is not None and key != query.within:
        return
    if (query.key is not None and key != query.key) or (
        query.session_id is not None and fields.get("Session ID") != query.session_id
    ):
        return
    name = note.name.rpartition("/")[2]
    kind = _kind(name, bool(fields))
    named = re.match(r"\d{4}-\d{2}-\d{2}", name)
    for block in blocks.split(note.text):
        dated = re.search(r"\d{4}-\d{2}-\d{2}", block.text) if kind == "fact" else None
        date = named[0] if named else dated[0] if dated else ""
        if _date_fits(date, query):
            yield Hit(block.text, kind, 0.0, (), date, note.name, (block.first, block.last), block.heading, key=key)


def _kind(name: str, has_session: bool) -> str:
    if name == "MEMORY.md":
        return "fact"
    if name == "facts-archive.md":
        return "archived fact"
    if has_session:
        return "raw" if name.endswith("-session-raw.md") else "summary"
    return "daily" if re.fullmatch(r"\d{4}-\d{2}-\d{2}\.md", name) else "note"


def _session_fits(line: SessionLine, query: Query) -> bool:
    if query.within is not None and line.key != query.within:
        return False
    if query.key is not None and line.key != query.key:
        return False
    return query.session_id is None or line.session_id == query.session_id


def _of_session(store: Store, line: SessionLine, query: Query, problems: list[str]) -> Iterator[Hit]:
    try:
        transcript = store.sessions.transcript(line.session_id)
    except StoreError as error:
        problems.append(str(error))
        return
    for message in transcript.messages:
        if message.internal or message.service or message.role not in _SEARCHED_ROLES:
            continue
        text, date = message.text, message.timestamp[:10]
        if text.strip() and _date_fits(date, query):
            yield Hit(
                text, "message", 0.0, (), date, session_id=line.session_id, n=message.n, role=message.role,
                key=line.key, superseded=transcript.is_superseded(message.n),
            )  # fmt: skip


def _date_fits(date: str, query: Query) -> bool:
    if query.since is not None and (not date or date < query.since):
        return False
    return query.until is None or bool(date and date <= query.until)
