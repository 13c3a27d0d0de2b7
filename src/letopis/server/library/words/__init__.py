"""The words of the pages in English and Russian.

Templates say what they mean in English; `ru.json` has the Russian for it. Counts and dates follow
the rules of each language.
"""

import json
from collections.abc import Callable
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

LANGUAGES = ("en", "ru")
_FORMS = {
    "message": ("message", "messages", "сообщение", "сообщения", "сообщений"),
    "fact": ("fact", "facts", "факт", "факта", "фактов"),
    "note": ("note", "notes", "заметка", "заметки", "заметок"),
    "session": ("conversation", "conversations", "разговор", "разговора", "разговоров"),
    "case": ("answer", "answers", "ответ", "ответа", "ответов"),
    "lesson": ("lesson", "lessons", "урок", "урока", "уроков"),
    "question": ("question", "questions", "вопрос", "вопроса", "вопросов"),
    "change": ("change", "changes", "изменение", "изменения", "изменений"),
    "day": ("day", "days", "день", "дня", "дней"),
    "month": ("month", "months", "месяц", "месяца", "месяцев"),
    "year": ("year", "years", "год", "года", "лет"),
    "token": ("token", "tokens", "токен", "токена", "токенов"),
    "failure": ("mistake", "mistakes", "ошибка", "ошибки", "ошибок"),
}
_MONTHS = {
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "ru": [
        "января",
        "февраля",
        "марта",
        "апреля",
        "мая",
        "июня",
        "июля",
        "августа",
        "сентября",
        "октября",
        "ноября",
        "декабря",
    ],
}
_TITLES = {
    "en": _MONTHS["en"],
    "ru": [
        "Январь",
        "Февраль",
        "Март",
        "Апрель",
        "Май",
        "Июнь",
        "Июль",
        "Август",
        "Сентябрь",
        "Октябрь",
        "Ноябрь",
        "Декабрь",
    ],
}
WEEK = {"en": ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"], "ru": ["Пн", "Вт", "Ср", "Чт", "Пт", "Сб", "Вс"]}


@cache
def russian() -> dict[str, str]:
    """The Russian for what the templates say."""
    found: dict[str, str] = _read("ru.json")
    return found


@cache
def names() -> dict[str, tuple[str, str]]:
    """What our own terms (kinds, states, roles, tools) are called by people: in English, in Russian."""
    return {term: (english, russian) for term, (english, russian) in _read("names.json").items()}


def _read(name: str) -> Any:
    return json.loads(resources.files("letopis.server.library").joinpath("words", name).read_text("utf-8"))


def named(language: str, term: str) -> str:
    """A term of ours as people say it; one that has no other name stays as it is."""
    known = names().get(term)
    return known[LANGUAGES.index(language)] if known else term.partition(" ")[2] or term


def speaker(language: str) -> Callable[..., str]:
    """Says something in a language; `{name}` stands for what is told by name."""
    known = russian() if language == "ru" else {}

    def say(text: str, **told: object) -> str:
        said = known.get(text, text)
        return said.format(**told) if told else said

    return say


def counted(language: str, number: int, thing: str) -> str:
    """A number with its noun: 1 fact, 2 факта, 1 000 фактов."""
    one, many, *forms = _FORMS[thing]
    shown = f"{number:,}".replace(",", "\u00a0" if language == "ru" else ",")
    if language != "ru":
        return f"{shown} {one if number == 1 else many}"
    last, two = number % 10, number % 100
    form = 2 if 11 <= two <= 14 else 0 if last == 1 else 1 if 2 <= last <= 4 else 2
    return f"{shown} {forms[form]}"


def chosen(cookie: str, accepted: str) -> str:
    """The language of a visitor: the one chosen by the switch, else the first of the browser's that there is."""
    if cookie in LANGUAGES:
        return cookie
    weighed = []
    for at, part in enumerate(accepted.split(",")):
        name, _, quality = part.partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            continue
        weighed.append((-weight, at, name.strip()[:2].casefold()))
    return next((name for _, _, name in sorted(weighed) if name in LANGUAGES), "en")


def day(language: str, moment: str, today: date | None = None) -> str:
    """An ISO day or moment as people write it; the year is left out where it is this one."""
    try:
        when = date.fromisoformat(moment[:10])
    except ValueError:
        return moment
    year = "" if today is not None and when.year == today.year else f" {when.year}"
    return f"{when.day} {_MONTHS[language][when.month - 1]}{year}"


def month(language: str, moment: str) -> str:
    """An ISO month as the head of a calendar."""
    try:
        return f"{_TITLES[language][int(moment[5:7]) - 1]} {moment[:4]}"
    except (ValueError, IndexError):
        return moment


def clock(moment: str) -> str:
    """The time of an ISO moment, to the minute."""
    return moment[11:16]


def age(language: str, moment: str, today: date) -> str:
    """How long ago a day was."""
    try:
        days = (today - date.fromisoformat(moment[:10])).days
    except ValueError:
        return ""
    if days < 1:
        return "сегодня" if language == "ru" else "today"
    if days == 1:
        return "вчера" if language == "ru" else "yesterday"
    number, unit = (days, "day") if days < 60 else (days // 30, "month") if days < 730 else (days // 365, "year")
    return f"{counted(language, number, unit)} {'назад' if language == 'ru' else 'ago'}"
