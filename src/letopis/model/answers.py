"""Which kind of answer a question expects, and which texts could give one: a time or a number."""

import re
from typing import Literal

Kind = Literal["time", "number"]

_MONTHS = (
    r"january|february|march|april|june|july|august|september|october|november|december|январ\w*|феврал\w*|март\w*"
    r"|апрел\w*|ма[йяе]|июн\w*|июл\w*|август\w*|сентябр\w*|октябр\w*|ноябр\w*|декабр\w*"
)
_DAYS = (
    r"yesterday|today|tomorrow|tonight|ago|last|next|week\w*|month\w*|years?|morning|evening|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|вчера|сегодня|завтра|назад|недел\w*|месяц\w*|год\w*|лет|век\w*|понедельник\w*"
    r"|вторник\w*|сред[ау]|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|утр\w*|вечер\w*"
)
_TIME = re.compile(rf"\b(?:1\d{{3}}|20\d\d)\b|\d{{1,2}}:\d\d|\b(?:{_MONTHS}|{_DAYS})\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|once|twice|both|couple|дв[ае]"
    r"|три|четыре|пять|шесть|семь|восемь|девять|десять|сто|тысяч\w*|дважды|оба|один|одна|пара)\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\b(?:when|(?:what|which) (?:year|day|date|month|time)|how long ago|когда|в како[мй] (?:\w+ )?(?:год\w*|месяц\w*"
    r"|век\w*|ден\w*|дн\w*)|в какой день|какого числа|[сд]о? какого|в котором (?:год\w*|час\w*)|во сколько)\b",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|old|long|far|tall|big|often|large)|what (?:percent\w*|number|age|amount|price|cost|size)"
    r"|сколько|скольким\w*|насколько|како\w+ (?:\w+ )?(?:численност\w*|процент\w*|количеств\w*|размер\w*|числ\w*"
    r"|возраст\w*|сумм\w*|цен\w*|площад\w*|высот\w*|длин\w*))\b",
    re.IGNORECASE,
)


def expected(question: str) -> Kind | None:
    """What a question asks for, where its words tell."""
    if _ASKS_TIME.search(question):
        return "time"
    return "number" if _ASKS_NUMBER.search(question) else None


def given(text: str) -> str:
    """The kinds of answer that a text could give: a letter each, `t` for a time, `n` for a number."""
    return ("t" if _TIME.search(text) else "") + ("n" if _NUMBER.search(text) else "")
