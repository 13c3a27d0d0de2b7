"""What may become a fact. The model proposes; these checks dispose.

Each check returns the reason of a refusal in words that a person and a model can act on, or
an empty text. A fact must be supported: every figure, name and date in it stands in, or follows
from, the messages that it cites or their neighbours.
"""

import re
from collections.abc import Sequence
from datetime import date

from letopis.model import dates, figures, secrets
from letopis.model.messages import Message
from letopis.model.text import content_stems, is_cyrillic, negated, normalise, stem, words

MAX_FACT_CHARACTERS = 500
NEIGHBOURS = 2
_SCAFFOLD = re.compile(
    r"(?i)\[(?:score|rank|id|source)\s*[=:]|\b(?:score|recalls|confidence)\s*=|\bcandidate:|memory_update|"
    r"history_entry|save_memory|</?think|<\|[a-z_]+\|>|^#{1,6}\s|```|\brest unchanged\b|остальное без изменений"
)
_ERROR = re.compile(
    r"(?i)^\W*(?:(?:error|ошибка|exception)\s*(?::|\(|code\b|\d{3}\s*(?:[:.,(-]|$))|traceback\b|http(?:\s+error)?\s*\d{3}\b"
    r"|\d{3}\s+(?:unauthorized|forbidden|too many|internal|bad)\b|invalid api key\b|rate limit (?:exceeded|reached)\b"
    r"|i'?m sorry,? (?:but )?i (?:can'?t|cannot)\b)"
)
_ORDER = re.compile(
    r"(?i)\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|all|earlier)\b.{0,30}"
    r"\b(?:instruction|prompt|rule|message)|\b(?:reveal|print|show|leak|ignore)\b.{0,20}\bsystem prompt\b"
    r"|\byou (?:must|are now|should) (?:now |always |never )?(?:ignore|reveal|obey|act|pretend|run|execute|send|delete)"
    r"|(?:^|[.!?:]\s+)(?:run|execute) (?:the )?(?:command|following)"
    r"|игнорир\w+.{0,40}(?:инструкц|правил|указан|сообщен)|забуд\w+.{0,30}(?:инструкц|правил)"
    r"|(?:покажи|раскрой|выведи|игнорируй).{0,20}системн\w+ промпт"
    r"|ты (?:теперь|обязан|должен) (?:игнорир|выполн|раскры|отправ|удал|притвор)"
    r"|(?:^|[.!?:]\s+)выполни\w* (?:команд|следующ)"
)
_NAME = re.compile(r"\b[A-ZА-ЯЁ][\w-]*\b")
_IDENTIFIER = re.compile(r"\b(?=[\w.@/-]*[_@/.\d])[A-Za-z][\w.@/-]{2,}\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[-–—]\s+|[«\"(]\s*)$")
_CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)
_SENTENCES = re.compile(r"[.!?;\n]+|,\s+(?:но|а|but)\b")
_NEUTRAL_STEMS = frozenset(content_stems("user the user's пользователь пользователя assistant ассистент"))
_NEUTRAL = {"User", "Assistant", "Пользователь", "Пользователя", "Ассистент", "I", "Я"}


def is_error_text(text: str) -> bool:
    """Whether a reply is the text of an error and not an answer."""
    return _ERROR.match(text.strip()) is not None


def form(text: str) -> str:
    """Why the text cannot be a fact whoever says it, or an empty text."""
    if not content_stems(text):
        return "it says nothing"
    if len(text) > MAX_FACT_CHARACTERS:
        return f"it is longer than {MAX_FACT_CHARACTERS} characters; say it in one sentence"
    if secrets.holds_secret(text):
        return "it holds a password, key or token, which are never kept as facts"
    if secrets.holds_mask(text):
        return "it holds a mask (***) in place of a value"
    return ""


def form_of_proposed(text: str) -> str:
    """Why a fact that a model proposes is not one, or an empty text."""
    reason = form(text)
    if reason:
        return reason
    if _SCAFFOLD.search(text):
        return "it holds markup of the program and not only what was said"
    if is_error_text(text):
        return "it is the text of an error"
    if _ORDER.search(text):
        return "it is an instruction to the assistant, and recalled text is never an instruction"
    if text.rstrip().endswith((",", ":", "…", "...", "—", " -")):
        return "it is half a sentence"
    return ""


def support(text: str, cited: Sequence[Message], around: Sequence[Message]) -> str:
    """Why the messages do not support the fact, or an empty text.

    `cited` are the messages it names; `around` are these and their neighbours, in order.
    """
    if not cited:
        return "it cites no message of a person or the assistant; give the numbers in `source`"
    said = "\n".join(m.text for m in around)
    reason = _other_language(text, "\n".join(m.text for m in cited)) or _opposite(text, said)
    if reason:
        return reason
    known = set(content_stems(said))
    if known.isdisjoint(content_stems(text)):
        return "none of its words stands in the messages it cites"
    days = {day for m in around for day in dates.mentioned(m.text, _day(m))}
    missing = _unsupported_figures(text, said, days) or _unsupported_names(text, said)
    return f"{missing!r} does not stand in the messages it cites" if missing else ""


def _other_language(text: str, cited: str) -> str:
    """A fact is written in letters that its source is written in."""
    own = is_cyrillic(text)
    if own is True and not _CYRILLIC.search(cited) and is_cyrillic(cited) is False:
        return "it must be kept in the language it was said in, which is written in Latin letters"
    if own is False and is_cyrillic(cited) is True and not _CYRILLIC.search(text):
        return "it must be kept in the language it was said in, which is written in Cyrillic"
    return ""


def _opposite(text: str, said: str) -> str:
    """A fact must not deny what was affirmed, nor affirm what was denied in the same words."""
    if negated(text):
        return "" if negated(said) else "it says that something is not so, and no message does"
    meant = {s for s in content_stems(text) if s not in _NEUTRAL_STEMS}
    for sentence in _SENTENCES.split(said):
        denied = content_stems(sentence) if negated(sentence) else []
        if meant and all(any(_kin(one, other) for other in denied) for one in meant):
            return "the message says the opposite"
    return ""


def _kin(left: str, right: str) -> bool:
    """Whether two stems are forms of one word: «люб» and «любл»."""
    short, long = sorted((left, right), key=len)
    return short == long or (len(short) >= 3 and long.startswith(short))


def unsupported(text: str, said: str) -> str:
    """The first figure or name of a summary that stands nowhere in what was said, or an empty text."""
    return _unsupported_figures(text, said, set()) or _unsupported_names(text, said)


def _day(message: Message) -> date | None:
    try:
        return date.fromisoformat(message.timestamp[:10])
    except ValueError:
        return None


def _unsupported_figures(text: str, said: str, days: set[date]) -> str:
    bare, own_days = dates.without_dates(text)
    for day, shown in own_days:
        if day not in days and shown not in said:
            return shown
    known = figures.meant(said)
    return next((shown for shown, numbers in figures.shown(bare) if known.isdisjoint(numbers)), "")


def _unsupported_names(text: str, said: str) -> str:
    spoken = {stem(word) for word in words(said)}
    folded = normalise(said)
    for match in _IDENTIFIER.finditer(text):
        if normalise(match[0]) not in folded and not _known(match[0], spoken):
            return match[0]
    for match in _NAME.finditer(text):
        name = match[0]
        opens = _SENTENCE_START.search(text[: match.start()]) is not None
        if name in _NEUTRAL or (opens and not _known(name, spoken) and not _is_surely_name(name, text)):
            continue
        if not _known(name, spoken):
            return name
    return ""


def _is_surely_name(name: str, text: str) -> bool:
    """An opening word is taken for a name where it is written so again inside the sentence."""
    return len(re.findall(rf"\b{re.escape(name)}\b", text)) > 1


def _known(name: str, spoken: set[str]) -> bool:
    return all(stem(word) in spoken or word in spoken for word in words(name))
