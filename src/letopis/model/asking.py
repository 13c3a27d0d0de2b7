"""What a question says besides its words: about whom, who said it, and when."""

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta

from letopis.model import dates
from letopis.model.text import normalise

_I = re.compile(r"\b(?:i|my|me|mine|i'm|i've|я|мне|меня|мой|моя|мое|мои|моей|моего|моих|мной|мы|нас|наш\w*)\b")
_YOU_SAID = re.compile(
    r"\byou(?:r| have| had|'ve)? (?:\w+ )?(?:said|told|say|tell|suggest\w*|recommend\w*|advis\w*|mention\w*|explain\w*|"
    r"propos\w*|wrote|write|gave|give|list\w*|provid\w*|describ\w*)|"
    r"\byour (?:advice|suggestion|recommendation|answer)\w*|"
    r"\b(?:ты|вы) (?:\w+ )?(?:сказа\w+|говори\w+|совет\w+|рекоменд\w+|предлаг\w+|предлож\w+|писа\w+|упомин\w+|объясн\w+"
    r"|назва\w+|перечисл\w+)|\b(?:твой|твоя|ваш|ваша) (?:совет|ответ|рекомендаци)\w*"
)
_MONTHS = (
    "january январ", "february феврал", "march март", "april апрел", "may ма[йяе]", "june июн", "july июл",
    "august август", "september сентябр", "october октябр", "november ноябр", "december декабр",
)  # fmt: skip
_YEAR = re.compile(r"\b(19|20)\d{2}\b")


@dataclass(frozen=True, slots=True)
class Span:
    """Days that a question speaks of, both ends included; a month of any year has no year."""

    first: date | None = None
    last: date | None = None
    month: int | None = None

    def holds(self, day: date) -> bool:
        """Whether a day lies in it."""
        if self.first is not None and self.last is not None:
            return self.first <= day <= self.last
        return self.month is None or day.month == self.month


def first_person(question: str) -> bool:
    """Whether the question speaks of the one who asks."""
    return _I.search(normalise(question)) is not None


def of_the_assistant(question: str) -> bool:
    """Whether the question is about what the assistant said."""
    return _YOU_SAID.search(normalise(question)) is not None


def spans(question: str, asked_on: date | None) -> list[Span]:
    """The times that a question names, some relative to the day of asking."""
    text = normalise(question)
    found = [Span(day, day) for day in dates.mentioned(question, None)]
    if asked_on is not None:
        found += list(_relative(text, asked_on))
    if found:
        return found
    year = _YEAR.search(text)
    for number, names in enumerate(_MONTHS, 1):
        if re.search(rf"\b(?:{names.replace(' ', '|')})\w{{0,2}}\b", text):
            if year:
                last = calendar.monthrange(int(year[0]), number)[1]
                found.append(Span(date(int(year[0]), number, 1), date(int(year[0]), number, last)))
            elif number != 5 or re.search(r"\b(?:in|last|this|since|during|of) may\b|\bма[йяе]\b", text):
                found.append(Span(month=number))
    if year and not found:
        found.append(Span(date(int(year[0]), 1, 1), date(int(year[0]), 12, 31)))
    return found


_AGO = re.compile(
    r"\b(\d{1,3}|a|an|one|two|three|four|five|six)?\s*(day|week|month|year|дн\w*|ден\w*|недел\w*|месяц\w*|год\w*|лет)\s*"
    r"(?:ago|назад)\b"
)
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_LENGTHS = (("day", 1), ("дн", 1), ("ден", 1), ("week", 7), ("недел", 7), ("month", 30), ("месяц", 30))


def _relative(text: str, today: date) -> list[Span]:
    out = []
    for words, first, last in (
        (r"yesterday|вчера", 1, 1),
        (r"позавчера|day before yesterday", 2, 2),
        (r"today|сегодня", 0, 0),
        (r"last week|на прошлой неделе|прошлой недел\w*", 13, 1),
        (r"this week|на этой неделе", 6, 0),
        (r"last month|в прошлом месяце", 61, 1),
        (r"last year|в прошлом году", 730, 180),
    ):
        if re.search(rf"\b(?:{words})\b", text):
            out.append(Span(today - timedelta(days=first), today - timedelta(days=last)))
    for match in _AGO.finditer(text):
        count = int(match[1]) if match[1] and match[1].isdigit() else _COUNTS.get(match[1] or "a", 1)
        length = next((days for name, days in _LENGTHS if match[2].startswith(name)), 365)
        middle, slack = count * length, max(1, count * length // 4)
        if middle < 40_000:
            out.append(Span(today - timedelta(days=middle + slack), today - timedelta(days=max(0, middle - slack))))
    return out
