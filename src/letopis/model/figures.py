"""Figures as they are compared: `150 000`, `150,000`, `150k` and «150 тысяч» are one."""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from letopis.model import dates

_FIGURE = re.compile(
    r"(?P<digits>\d+(?:[.,:/]\d+)*)(?:(?P<near>[kк])\b|\s*(?P<unit>тыс(?:\.|яч\w*)?|thousands?|млн|миллион\w*|millions?"
    r"|млрд|миллиард\w*|billions?)\b)?",
    re.IGNORECASE,
)
_TIMES = {"k": 3, "к": 3, "ты": 3, "th": 3, "мл": 6, "ми": 6, "bi": 9}
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def shown(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Each figure of a text as it is written, and every number that it may mean."""
    for match in _FIGURE.finditer(ungrouped(text)):
        unit = (match["near"] or match["unit"] or "").casefold()
        yield match[0].strip(), frozenset(_meant(match["digits"], unit))


def meant(text: str) -> set[str]:
    """Every number that the figures of a text may mean, spelled ones too."""
    return {number for _, numbers in shown(text) for number in numbers} | set(dates.spelled_numbers(text))


def ungrouped(text: str) -> str:
    """The text with `150 000` written `150000`."""
    return re.sub(r"(?<=\d)[ \u00a0\u202f](?=\d{3}\b)", "", text)


def _meant(digits: str, unit: str) -> Iterator[str]:
    forms = {digits.replace(",", ".")}
    if _THOUSANDS.fullmatch(digits):
        forms.add(digits.replace(",", ""))
    for form in forms:
        bare = form.removesuffix(":00").lstrip("0") or "0"
        if not unit:
            yield bare
            continue
        power = 9 if unit.startswith(("млрд", "миллиард")) else _TIMES.get(unit[:2], _TIMES.get(unit[:1], 0))
        try:
            yield f"{(Decimal(bare) * 10**power).normalize():f}"
        except InvalidOperation:
            yield bare
