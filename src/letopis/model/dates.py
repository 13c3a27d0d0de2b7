"""Days that a text names: written out, or relative to the day on which it was said."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan январ янв", "february feb феврал фев", "march mar март мар", "april apr апрел апр",
            "may ма", "june jun июн", "july jul июл", "august aug август авг", "september sep sept сентябр сен",
            "october oct октябр окт", "november nov ноябр ноя", "december dec декабр дек",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = (
    r"(january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul"
    r"|aug|sept?|oct|nov|dec|январ|феврал|март|апрел|ма|июн|июл|август|сентябр|октябр|ноябр|декабр)"
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DOTTED = re.compile(r"\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b")
_DAY_MONTH = re.compile(
    rf"(?i)\b(\d{{1,2}})(?:st|nd|rd|th|-?го)?\s+(?:of\s+)?{_MONTH}[а-яё]{{0,2}}\b"
    r"(?:,?\s+(\d{4}))?"
)
_MONTH_DAY = re.compile(rf"(?i)\b{_MONTH}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")
_RELATIVE = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1, "the day after tomorrow": 2, "сегодня": 0,
    "завтра": 1, "вчера": -1, "послезавтра": 2, "позавчера": -2, "next week": 7, "in a week": 7,
    "через неделю": 7, "через день": 2, "на следующей неделе": 7,
}  # fmt: skip
_WEEKDAYS = (
    r"monday|понедельник\w*", r"tuesday|вторник\w*", r"wednesday|сред[ауые]\w*", r"thursday|четверг\w*",
    r"friday|пятниц\w*", r"saturday|суббот\w*", r"sunday|воскресень\w*",
)  # fmt: skip
_IN_DAYS = re.compile(r"(?i)\b(?:in|через)\s+(\d{1,3})\s+(day|week|дн|ден|недел)")
_NUMBERS = {
    "1": "one один одна одно одну одного первый", "2": "two два две двух двое второй both оба обе",
    "3": "three три трех трое третий", "4": "four четыре четырех четверо", "5": "five пять пяти",
    "6": "six шесть шести", "7": "seven семь семи", "8": "eight восемь восьми", "9": "nine девять девяти",
    "10": "ten десять десяти", "12": "twelve двенадцать", "15": "fifteen пятнадцать", "20": "twenty двадцать",
    "30": "thirty тридцать", "40": "forty сорок", "50": "fifty пятьдесят", "100": "hundred сто",
    "1000": "thousand тысяча тысячу тысяч",
}  # fmt: skip
_SPELLED = {word: figure for figure, names in _NUMBERS.items() for word in names.split()}


def without_dates(text: str) -> tuple[str, list[tuple[date, str]]]:
    """The text with its full dates taken out, and these dates as they were written."""
    found: list[tuple[date, str]] = []
    for pattern in (_ISO, _DOTTED, _DAY_MONTH, _MONTH_DAY):
        for match in pattern.finditer(text):
            day = _full(pattern, match, None)
            if day is not None:
                found.append((day, match[0]))
        text = pattern.sub(partial(_blanked, pattern), text)
    return text, found


def _blanked(pattern: re.Pattern[str], match: re.Match[str]) -> str:
    return " " if _full(pattern, match, None) else match[0]


def mentioned(text: str, said_on: date | None) -> Iterator[date]:
    """Every day that the text names, some of them relative to the day it was said on."""
    for pattern in (_ISO, _DOTTED, _DAY_MONTH, _MONTH_DAY):
        for match in pattern.finditer(text):
            day = _full(pattern, match, said_on)
            if day is not None:
                yield day
    if said_on is not None:
        yield from _relative(text.casefold(), said_on)


def _full(pattern: re.Pattern[str], match: re.Match[str], said_on: date | None) -> date | None:
    parts = match.groups()
    if pattern is _ISO:
        year, month, day = (int(p) for p in parts)
    elif pattern is _DOTTED:
        day, month, year = (int(p) for p in parts)
    else:
        number, name = (parts[0], parts[1]) if pattern is _DAY_MONTH else (parts[1], parts[0])
        day, month = int(number), _MONTHS[name.casefold()]
        if parts[2] is None and said_on is None:
            return None
        year = int(parts[2]) if parts[2] else said_on.year if said_on else 0
    try:
        made = date(year, month, day)
    except ValueError:
        return None
    if said_on is not None and parts[2] is None and made < said_on - timedelta(days=180):
        return made.replace(year=made.year + 1) if (made.month, made.day) != (2, 29) else made
    return made


def _relative(text: str, said_on: date) -> Iterator[date]:
    for phrase, days in _RELATIVE.items():
        if re.search(rf"\b{phrase}\b", text):
            yield said_on + timedelta(days=days)
    for match in _IN_DAYS.finditer(text):
        yield said_on + timedelta(days=int(match[1]) * (7 if match[2] in ("week", "недел") else 1))
    for weekday, pattern in enumerate(_WEEKDAYS):
        if re.search(rf"\b(?:{pattern})\b", text):
            ahead = (weekday - said_on.weekday()) % 7
            yield from (said_on + timedelta(days=ahead + shift) for shift in (-7, 0, 7))


_PHRASES = "|".join(sorted(map(re.escape, _RELATIVE), key=len, reverse=True))
_WEEKDAY = "|".join(f"(?P<d{at}>{pattern})" for at, pattern in enumerate(_WEEKDAYS))
_ANCHORED = re.compile(
    rf"(?i)(?<![\w-])(?:(?P<phrase>{_PHRASES})|(?P<count>in|через)\s+(?P<n>\d{{1,3}})\s+"
    r"(?P<unit>days?|weeks?|дн\w*|ден\w*|недел\w*)"
    rf"|(?:on|во?)\s+(?:this\s+|next\s+|(?P<past>last\s+|прошл\w+\s+)|(?:эту|этот|следующ\w+)\s+)?(?:{_WEEKDAY}))(?![\w-])"
)
_PAST = re.compile(r"(?i)\b(?:was|were|met|had|did|went|came|said|\w{3,}ed|\w{2,}(?:л|ла|ли|ло|лся|лась|лись))\b")


def anchored(text: str, said_on: date) -> str:
    """The text with days that are relative to the one it was said on written out: `2026-03-01`.

    A weekday is the next one, or with "last" the one before. It stays as it is where the sentence may
    tell of the past, and where it comes again and again ("every Friday", «по пятницам»).
    """
    past = _PAST.search(text) is not None

    def written(match: re.Match[str]) -> str:
        before = text[: match.start()]
        quoted = before.count("«") > before.count("»") or before.count('"') % 2
        title = before.strip() and match[0][0].isupper()  # "Tomorrow Never Dies"
        weekday = not match["phrase"] and not match["count"]
        if quoted or title or (weekday and past and not match["past"]):
            return match[0]
        day = said_on + timedelta(days=_distance(match, said_on))
        lead = "on " if match[0][:3].casefold() == "on " else ""
        return lead + day.isoformat()

    return _ANCHORED.sub(written, text)


def _distance(match: re.Match[str], said_on: date) -> int:
    if match["phrase"]:
        return _RELATIVE[match["phrase"].casefold()]
    if match["count"]:
        return int(match["n"]) * (7 if match["unit"].casefold().startswith(("week", "недел")) else 1)
    weekday = next(at for at in range(7) if match[f"d{at}"])
    ahead = (weekday - said_on.weekday()) % 7
    return ahead - 7 if match["past"] else ahead or 7


def spelled_numbers(text: str) -> Iterator[str]:
    """The figures of numbers that the text spells out."""
    for word in re.findall(r"[a-zа-яё]+", text.casefold()):
        figure = _SPELLED.get(word.replace("ё", "е"))
        if figure is not None:
            yield figure
