"""What answers when no model is configured: the memory itself.

It says once that it is no language model. It keeps and removes what it is told to, and answers
by quoting what it finds, each with its source.
"""

from letopis.errors import FactRefused
from letopis.index import Index
from letopis.lifecycle.remember import Kept, Known, forget, keep
from letopis.model import explicit, terms
from letopis.model.search import Hit, Query
from letopis.model.summary import is_russian
from letopis.model.text import one_line, shorten
from letopis.model.transcript import Transcript
from letopis.store import Store

_SHOWN = 5
_ENGLISH = {
    "hello": "No language model is configured, so I cannot converse. I keep every word of this chat, remember what "
    "you tell me to (“remember that…”, “forget that…”), and quote what I find in the memory.",
    "kept": "Remembered: {0}",
    "replaced": "Remembered: {0}\nInstead of: {1}",
    "known": "I knew that already: {0}",
    "removed": "Forgotten: {0}",
    "refused": "I did not do that: {0}",
    "found": "This is what I found:",
    "relaxed": "Nothing holds all these words. The closest that I found:",
    "nothing": "I found nothing about this in the memory. The message is kept.",
    "shared": "This conversation is shared, so nothing said here becomes a fact.",
}  # fmt: skip
_RUSSIAN = {
    "hello": "Языковая модель не настроена, поэтому вести беседу я не могу. Я храню каждое слово этого разговора, "
    "запоминаю то, что вы просите («запомни, что…», «больше не считай, что…»), и привожу то, что нахожу в памяти.",
    "kept": "Запомнил: {0}",
    "replaced": "Запомнил: {0}\nВместо: {1}",
    "known": "Это я уже знаю: {0}",
    "removed": "Забыл: {0}",
    "refused": "Я этого не сделал: {0}",
    "found": "Вот что я нашёл:",
    "relaxed": "Со всеми этими словами ничего нет. Самое близкое из найденного:",
    "nothing": "В памяти об этом ничего нет. Сообщение сохранено.",
    "shared": "Этот разговор общий, поэтому сказанное здесь не становится фактом.",
}  # fmt: skip


def respond(store: Store, index: Index, transcript: Transcript, n: int, shared: bool) -> str:
    """The answer to message `n` of a session."""
    message = next(m for m in transcript.messages if m.n == n)
    words = _RUSSIAN if is_russian([message]) else _ENGLISH
    first = not any(m.role == "assistant" for m in transcript.messages)
    requests = explicit.told(message.text)
    if requests and shared:
        parts = [words["shared"]]
    elif requests:
        parts = [_carried_out(store, request, transcript.session_id, n, words) for request in requests]
    else:
        key = transcript.header.key if transcript.header else ""
        parts = [_quoted(index, message.text, f"{transcript.session_id}#{n}", key if shared else None, words)]
    return "\n\n".join([words["hello"], *parts] if first else parts)


def _carried_out(
    store: Store, request: explicit.Remember | explicit.Forget, session_id: str, n: int, words: dict[str, str]
) -> str:
    try:
        match request:
            case explicit.Remember(text):
                match keep(store, text, session_id, n):
                    case Kept(fact, None):
                        return words["kept"].format(fact.text)
                    case Kept(fact, before):
                        return words["replaced"].format(fact.text, before.text if before else "")
                    case Known(fact):
                        return words["known"].format(fact.text)
            case explicit.Forget(text):
                return words["removed"].format(forget(store, text, session_id=session_id).fact.text)
    except FactRefused as error:
        return words["refused"].format(error)
    raise AssertionError


def _quoted(index: Index, text: str, itself: str, within: str | None, words: dict[str, str]) -> str:
    found = index.search(Query(text, "all", _SHOWN * 4, within=within, exclude=itself))
    told = [hit for hit in found.hits if hit.role != "assistant" and hit.kind != "raw"]
    hits = ([hit for hit in told if hit.matched] or told)[:_SHOWN]
    if not hits:
        return words["nothing"]
    well = any(len(hit.matched) * 2 >= len(terms.asked(text)) for hit in hits)
    return "\n".join([words["found"] if well else words["relaxed"], *(_line(hit) for hit in hits)])


def _line(hit: Hit) -> str:
    date = f", {hit.date}" if hit.date else ""
    return f"- «{shorten(one_line(hit.text), 300)}» ({hit.source}{date})"
