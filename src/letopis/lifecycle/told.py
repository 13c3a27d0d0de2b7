"""Carries out what a person tells the memory in so many words, at once, with or without a model."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from letopis.errors import LetopisError, NoSingleMatch
from letopis.lifecycle.remember import Kept, Known, Removed, exchange, forget, keep
from letopis.model import explicit
from letopis.model.messages import Message
from letopis.model.transcript import Transcript
from letopis.store import Store

_ENGLISH = {
    "kept": "Remembered: {0}",
    "replaced": "Remembered: {0}\nInstead of: {1}",
    "known": "I knew that already: {0}",
    "removed": "Forgotten: {0}",
    "refused": "I did not do that: {0}",
    "several": "No single fact is meant; nothing was changed. Close ones:",
    "none": "There is no such fact; nothing was changed.",
    "shared": "This conversation is shared, so nothing said here becomes a fact.",
}
_RUSSIAN = {
    "kept": "Запомнил: {0}",
    "replaced": "Запомнил: {0}\nВместо: {1}",
    "known": "Это я уже знаю: {0}",
    "removed": "Забыл: {0}",
    "refused": "Я этого не сделал: {0}",
    "several": "Подходит не один факт; ничего не изменено. Похожие:",
    "none": "Такого факта нет; ничего не изменено.",
    "shared": "Этот разговор общий, поэтому сказанное здесь не становится фактом.",
}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that was not carried out, and why; for a fact that is not the only one meant, those that may be."""

    reason: str
    candidates: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """A request in a shared conversation, where nothing becomes a fact."""


Outcome = Kept | Known | Removed | Refused | Shared


def carry_out(store: Store, transcript: Transcript, n: int, shared: bool) -> list[Outcome]:
    """What came of each request in message `n` of a session; empty where there is none."""
    at = bisect_left(transcript.messages, n, key=lambda message: message.n)
    if at == len(transcript.messages) or transcript.messages[at].n != n:
        return []
    text = transcript.messages[at].text
    previous, source = _before(transcript.messages[:at]) if explicit.points(text) else ("", 0)
    requests = explicit.told(text, previous)
    if requests and shared:
        return [Shared()]
    return [_carried_out(store, request, transcript.session_id, n, source) for request in requests]


def _before(messages: Sequence[Message]) -> tuple[str, int]:
    """The statement that "this" means after these messages, and the number of the message that says it."""
    said = [m for m in messages if m.spoken and m.text.strip()]
    at = next((at for at in range(len(said) - 1, -1, -1) if said[at].role == "user"), None)
    if at is None:
        return "", 0
    answers = [m for m in said[at + 1 :] if m.role == "assistant"]
    statement, answered = explicit.meant_by_this(said[at].text, answers[-1].text if answers else "")
    return statement, answers[-1].n if answered and answers else said[at].n


def _carried_out(store: Store, request: explicit.Request, session_id: str, n: int, source: int) -> Outcome:
    try:
        match request:
            case explicit.Remember(text, earlier):
                return keep(store, text, session_id, source if earlier else n)
            case explicit.Forget(text):
                return forget(store, text, session_id=session_id)
            case explicit.Replace(old, text):
                return _replaced(store, old, text, session_id, n)
    except NoSingleMatch as error:
        return Refused(str(error), tuple(error.candidates))
    except LetopisError as error:
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
        case Refused(reason, None):
            return words["refused"].format(reason)
        case Refused(_, candidates):
            listed = "".join(f"\n- {candidate}" for candidate in candidates or ())
            return words["several" if listed else "none"] + listed
        case Shared():
            return words["shared"]
