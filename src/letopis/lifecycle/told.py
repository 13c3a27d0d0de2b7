"""Carries out what a person tells the memory in so many words, at once, with or without a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from letopis.errors import FactRefused, NoSingleMatch
from letopis.lifecycle.remember import Kept, Known, Removed, exchange, forget, keep
from letopis.model import explicit
from letopis.model.transcript import Transcript
from letopis.store import Store

_ENGLISH = {
    "kept": "Remembered: {0}",
    "replaced": "Remembered: {0}\nInstead of: {1}",
    "known": "I knew that already: {0}",
    "removed": "Forgotten: {0}",
    "refused": "I did not do that: {0}",
    "shared": "This conversation is shared, so nothing said here becomes a fact.",
}
_RUSSIAN = {
    "kept": "Запомнил: {0}",
    "replaced": "Запомнил: {0}\nВместо: {1}",
    "known": "Это я уже знаю: {0}",
    "removed": "Забыл: {0}",
    "refused": "Я этого не сделал: {0}",
    "shared": "Этот разговор общий, поэтому сказанное здесь не становится фактом.",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was not carried out, and why; `reason` lists the candidates where there are several."""

    reason: str


@dataclass(frozen=True, slots=True)
class Shared:
    """A request in a shared conversation, where nothing becomes a fact."""


Outcome = Kept | Known | Removed | Refused | Shared


def carry_out(store: Store, transcript: Transcript, n: int, shared: bool) -> list[Outcome]:
    """What came of each request in message `n` of a session; empty where there is none."""
    at = next((at for at, m in enumerate(transcript.messages) if m.n == n), None)
    if at is None:
        return []
    before = (m.text for m in reversed(transcript.messages[:at]) if m.spoken and m.text.strip())
    requests = explicit.told(transcript.messages[at].text, next(before, ""))
    if requests and shared:
        return [Shared()]
    return [_carried_out(store, request, transcript.session_id, n) for request in requests]


def _carried_out(store: Store, request: explicit.Request, session_id: str, n: int) -> Outcome:
    try:
        match request:
            case explicit.Remember(text):
                return keep(store, text, session_id, n)
            case explicit.Forget(text):
                return forget(store, text, session_id=session_id)
            case explicit.Replace(old, text):
                return _replaced(store, old, text, session_id, n)
    except FactRefused as error:
        return Refused(str(error))
    raise AssertionError(request)


def _replaced(store: Store, old: str, text: str, session_id: str, n: int) -> Outcome:
    """One replacement; where the old fact is not there, the new one is kept all the same."""
    try:
        return exchange(store, old, text, session_id, n)
    except NoSingleMatch as error:
        if error.candidates:
            raise
        return keep(store, text, session_id, n)


def said(outcomes: Sequence[Outcome], russian: bool) -> str:
    """The outcomes in words for the person."""
    words = _RUSSIAN if russian else _ENGLISH
    return "\n".join(_line(outcome, words) for outcome in outcomes)


def _line(outcome: Outcome, words: dict[str, str]) -> str:
    match outcome:
        case Kept(fact, None):
            return words["kept"].format(fact.text)
        case Kept(fact, before):
            return words["replaced"].format(fact.text, before.text if before else "")
        case Known(fact):
            return words["known"].format(fact.text)
        case Removed(fact):
            return words["removed"].format(fact.text)
        case Refused(reason):
            return words["refused"].format(reason)
        case Shared():
            return words["shared"]
