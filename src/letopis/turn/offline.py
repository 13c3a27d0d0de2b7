"""What answers when no model is configured: the memory itself.

It says once that it is no language model. It keeps and removes what it is told to, and answers
by quoting what it finds, each with its source.
"""

from letopis.index import Index
from letopis.lifecycle import told
from letopis.model import terms
from letopis.model.search import Hit, Query
from letopis.model.summary import is_russian
from letopis.model.text import one_line, shorten
from letopis.model.transcript import Transcript
from letopis.store import Store

_SHOWN = 5
_ENGLISH = {
    "hello": "No language model is configured, so I cannot converse. I keep every word of this chat, remember what "
    "you tell me to (“remember that…”, “forget that…”), and quote what I find in the memory.",
    "found": "This is what I found:",
    "relaxed": "Nothing holds all these words. The closest that I found:",
    "nothing": "I found nothing about this in the memory. The message is kept.",
}  # fmt: skip
_RUSSIAN = {
    "hello": "Языковая модель не настроена, поэтому вести беседу я не могу. Я храню каждое слово этого разговора, "
    "запоминаю то, что вы просите («запомни, что…», «больше не считай, что…»), и привожу то, что нахожу в памяти.",
    "found": "Вот что я нашёл:",
    "relaxed": "Со всеми этими словами ничего нет. Самое близкое из найденного:",
    "nothing": "В памяти об этом ничего нет. Сообщение сохранено.",
}  # fmt: skip


def respond(store: Store, index: Index, transcript: Transcript, n: int, shared: bool) -> str:
    """The answer to message `n` of a session."""
    message = next(m for m in transcript.messages if m.n == n)
    russian = is_russian([message])
    words = _RUSSIAN if russian else _ENGLISH
    first = not any(m.role == "assistant" for m in transcript.messages)
    outcomes = told.carry_out(store, transcript, n, shared)
    if outcomes:
        answer = told.said(outcomes, russian)
    else:
        key = transcript.header.key if transcript.header else ""
        answer = _quoted(index, message.text, f"{transcript.session_id}#{n}", key if shared else None, words)
    return f"{words['hello']}\n\n{answer}" if first else answer


def _quoted(index: Index, text: str, itself: str, within: str | None, words: dict[str, str]) -> str:
    found = index.search(Query(text, "all", _SHOWN * 4, within=within, exclude=itself))
    kept = [hit for hit in found.hits if hit.role != "assistant" and hit.kind != "raw"]
    kept.sort(key=lambda hit: hit.kind in ("daily", "digest"))  # what was said itself before notes on it
    hits = ([hit for hit in kept if hit.matched] or kept)[:_SHOWN]
    if not hits:
        return words["nothing"]
    well = any(len(hit.matched) * 2 >= len(terms.asked(text)) for hit in hits)
    return "\n".join([words["found"] if well else words["relaxed"], *(_line(hit) for hit in hits)])


def _line(hit: Hit) -> str:
    date = f", {hit.date}" if hit.date else ""
    return f"- «{shorten(one_line(hit.text), 300)}» ({hit.source}{date})"
