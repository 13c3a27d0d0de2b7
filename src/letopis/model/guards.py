"""What may become a fact. The model proposes; these checks dispose.

Each check returns the reason of a refusal in words that a person and a model can act on, or
an empty text. A fact must be supported: every figure, name and date in it stands in, or follows
from, the messages that it cites or their neighbours.
"""

import re
from collections.abc import Sequence
from datetime import date

from letopis.model import dates, secrets
from letopis.model.messages import Message
from letopis.model.text import content_stems, is_cyrillic, normalise, stem, words

MAX_FACT_CHARACTERS = 500
NEIGHBOURS = 2
_SCAFFOLD = re.compile(
    r"(?i)\[(?:score|rank|id|source)\s*[=:]|\b(?:score|recalls|confidence)\s*=|\bcandidate:|memory_update|"
    r"history_entry|save_memory|</?think|<\|[a-z_]+\|>|^#{1,6}\s|```|\brest unchanged\b|остальное без изменений"
)
_ERROR = re.compile(
    r"(?i)^\W*(?:error|ошибка|exception|traceback|http(?:\s+error)?\s*\d{3}|\d{3}\s+(?:unauthorized|forbidden|"
    r"too many|internal|bad)|invalid api key|rate limit|i'?m sorry,? (?:but )?i (?:can'?t|cannot))\b"
)
_ORDER = re.compile(
    r"(?i)\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|all|earlier)\b.{0,30}"
    r"\b(?:instruction|prompt|rule|message)|\bsystem prompt\b|\byou (?:must|are now|should) (?:now |always |never )?"
    r"(?:ignore|reveal|obey|act|pretend|run|execute|send|delete)|\b(?:run|execute) (?:the )?(?:command|following)|"
    r"игнорир\w+.{0,40}(?:инструкц|правил|указан|сообщен)|забуд\w+.{0,30}(?:инструкц|правил)|системн\w+ промпт|"
    r"ты (?:теперь|обязан|должен) (?:игнорир|выполн|раскры|отправ|удал|притвор)|выполни\w* (?:команд|следующ)"
)
_FIGURE = re.compile(r"\d+(?:[.,:/]\d+)*")
_NAME = re.compile(r"\b[A-ZА-ЯЁ][\w-]*\b")
_IDENTIFIER = re.compile(r"\b(?=[\w.@/-]*[_@/.\d])[A-Za-z][\w.@/-]{2,}\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[-–—]\s+|[«\"(]\s*)$")
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
    cyrillic = is_cyrillic("\n".join(m.text for m in cited))
    if cyrillic is True and is_cyrillic(text) is False:
        return "it must be kept in the language it was said in, which is written in Cyrillic"
    if cyrillic is False and is_cyrillic(text) is True:
        return "it must be kept in the language it was said in, which is written in Latin letters"
    known = set(content_stems(said))
    if known.isdisjoint(content_stems(text)):
        return "none of its words stands in the messages it cites"
    days = {day for m in around for day in dates.mentioned(m.text, _day(m))}
    missing = _unsupported_figures(text, said, days) or _unsupported_names(text, said)
    return f"{missing!r} does not stand in the messages it cites" if missing else ""


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
    figures = {_figure(f) for form in (said, _ungrouped(said)) for f in _FIGURE.findall(form)}
    figures |= set(dates.spelled_numbers(said))
    return next((f for f in _FIGURE.findall(_ungrouped(bare)) if _figure(f) not in figures), "")


def _ungrouped(text: str) -> str:
    """The text with `150 000` written `150000`."""
    return re.sub(r"(?<=\d)[ \u00a0\u202f](?=\d{3}\b)", "", text)


def _figure(text: str) -> str:
    """A figure as it is compared: the decimal comma is a point, a date's zero is nothing."""
    return text.replace(",", ".").lstrip("0") or "0"


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
