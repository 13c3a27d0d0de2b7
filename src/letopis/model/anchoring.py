"""Anchors: the exact data of one conversation (prices, dates, rates, decisions), each with its message.

An item's newest value counts, and what it replaces is named as outdated. Nothing is invented: an
item is a row or a sentence as it was said.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from letopis.model import extract, figures, secrets, tokens
from letopis.model.messages import Message
from letopis.model.text import content_stems, is_cyrillic, one_line, shorten

LENGTH = 3_000
LONGEST = 200
_ROWS_OF_DATA, _FEWEST = 2, 2
_NAMED, _EXACT, _OLD, _KEPT = 40, 120, 80, 7
_DATUM = re.compile(
    r"(?i)[:=·—-]\s*[$€₽£]?\d|[$€₽£]\s?\d|\d\s*(?:[%$€₽£°]|(?:руб|коп|тыс|млн|usd|eur|rub|dollar|euro|кг|г|т|км|м|см|мм|л|мл|шт"
    r"|дн|день|дней|час|ч|мин|сек|лет|год|kg|g|km|m|cm|mm|l|ml|pcs|day|hour|h|min|sec|year|week|недел|мес|month|gb|mb|тб|гб|мб"
    r"|вт|w|kw|квт|в|v|a|а|hz|гц|мгц|mhz)[\w.]{0,5}(?![\w]))"
)
_ROW = re.compile(r"^\s*(?:[-*•+]|\d{1,3}[.)])\s+|^\s*\|")
_CORRECTS = re.compile(
    r"(?i)\b(?:исправлени|поправк|правк|уточнени|теперь|нов[аыо]|подорожа|подешеве|вырос|снизи|нет\b"
    r"|correct|update|now\b|actually|rose|dropped|went)"
)
_RULE = re.compile(r"^[\s|:+-]*$")
_FILLER = frozenset(
    content_stems(
        "теперь сейчас уже стал стала стало стоит составляет равна равен исправление поправка правка уточнение новая "
        "новый новое изменилась изменился подорожал подорожала подешевел подешевела вырос выросла снизился снизилась "
        "нет "
        "now actually correction update updated new changed became costs equals rose dropped went up down"
    )
)


@dataclass(frozen=True, slots=True)
class Item:
    """What message `n` says."""

    text: str
    n: int


@dataclass(frozen=True, slots=True)
class Anchor:
    """A save point: the data of messages `first` to `last`, and why it was placed."""

    topic: str
    data: tuple[Item, ...]
    first: int
    last: int
    reason: str
    goals: tuple[str, ...] = ()

    def record(self, session_id: str, at: str) -> dict[str, Any]:
        """The anchor as its line in a transcript."""
        data = [{"text": item.text, "n": item.n} for item in self.data]
        where = {"goals": list(self.goals), "from": self.first, "to": self.last, "reason": self.reason}
        return {"_type": "anchor", "session_id": session_id, "at": at, "topic": self.topic, "data": data, **where}


@dataclass(frozen=True, slots=True)
class Entry:
    """An item in its newest form, and the last values that it had before."""

    item: Item
    outdated: tuple[Item, ...]


def parse(record: Mapping[str, Any]) -> Anchor | None:
    """The anchor on a line, or None where it is not one."""
    first, last, data = record.get("from"), record.get("to"), record.get("data")
    if not (isinstance(first, int) and isinstance(last, int) and isinstance(data, list)):
        return None
    items = tuple(
        Item(entry["text"], entry["n"])
        for entry in data
        if isinstance(entry, Mapping) and isinstance(entry.get("text"), str) and isinstance(entry.get("n"), int)
    )
    goals = record.get("goals")
    texts = tuple(goal for goal in goals if isinstance(goal, str)) if isinstance(goals, list) else ()
    return Anchor(str(record.get("topic") or ""), items, first, last, str(record.get("reason") or ""), texts)


def items(messages: Iterable[Message]) -> list[Item]:
    """The rows and sentences with data in them, in order."""
    out = []
    for message in messages:
        if not message.searched:
            continue
        prose = [line for line in message.text.splitlines() if not _ROW.match(line)]
        out += [Item(text, message.n) for text in _rows(message.text)]
        if message.spoken:
            told = extract.sentences([_with_text(message, "\n".join(prose))])
            out += [Item(s.text, s.n) for s in told if s.kind in ("facts", "decided") and not s.text.endswith("?")]
    return [item for item in out if not secrets.holds_secret(item.text)]


def _with_text(message: Message, text: str) -> Message:
    return Message(message.n, message.timestamp, message.role, {**message.stored, "content": text})


def _rows(text: str) -> list[str]:
    """The rows of lists and tables that hold a figure, each under the heading that stands above it."""
    out: list[str] = []
    heading = ""
    for line in text.splitlines():
        if _ROW.match(line):
            bare = one_line(_ROW.sub("", line).replace("|", " · ")).strip(" ·")
            if not _RULE.match(line) and any(c.isdigit() for c in bare):
                out.append(shorten(f"{heading} {bare}".strip(), LONGEST))
        elif line.strip():
            heading = one_line(line).strip("# *") if line.rstrip().endswith(":") or line.startswith("#") else ""
    return out


@lru_cache(maxsize=65_536)
def subject(text: str) -> frozenset[str]:
    """What an item is about: its words without its figures."""
    bare = re.sub(r"\d[\d\s.,:/%]*", " ", figures.ungrouped(text))
    return frozenset(content_stems(bare)) - _FILLER


def ledger(anchors: Iterable[Anchor], upto: int | None = None) -> list[Entry]:
    """Every item once, in its newest form, oldest message first; of messages up to number `upto`."""
    found: dict[frozenset[str], Entry] = {}
    for anchor in anchors:
        for item in anchor.data:
            if upto is not None and item.n > upto:
                continue
            key = _standing(item.text, found)
            known = found.pop(key, None)
            if known is None or known.item.text == item.text:
                found[key] = Entry(item, known.outdated if known else ())
            else:
                found[key] = Entry(item, (*known.outdated[-_KEPT:], known.item))
    return list(found.values())


def _standing(text: str, found: Mapping[frozenset[str], Entry]) -> frozenset[str]:
    """Under which subject an item stands: a correction that names less than what it corrects stands under that."""
    own = subject(text) or frozenset({text})
    if own in found or len(own) < _FEWEST or not _CORRECTS.search(text):
        return own
    meant = [known for known in found if own < known]
    return meant[0] if len(meant) == 1 else own


Values = dict[frozenset[str], frozenset[str]]


def values(entries: Iterable[Item]) -> Values:
    """The figures that stand for each thing."""
    return {subject(item.text): _figures(item.text) for item in entries}


@lru_cache(maxsize=65_536)
def _figures(text: str) -> frozenset[str]:
    return frozenset(figures.meant(text))


def due(pending: Sequence[Message], known: Values) -> str:
    """Why an anchor should be placed after these messages whatever they are about, or an empty text."""
    new = items(pending)
    if new and any(m.role == "tool" for m in pending):
        return "a tool gave data"
    if sum(1 for m in pending for _ in _rows(m.text)) >= _ROWS_OF_DATA:
        return "a list or table"
    if any(known.get(subject(i.text), frozenset()) - _figures(i.text) for i in new):
        return "a figure was corrected"
    return "length" if sum(len(m.text) for m in pending if m.spoken) >= LENGTH else ""


def topic(messages: Sequence[Message]) -> str:
    """The words that the messages say most."""
    counted: Counter[str] = Counter()
    for message in messages:
        counted.update(w for w in dict.fromkeys(re.findall(r"[^\W\d_]{4,}", message.text.casefold())))
    return ", ".join(word for word, _ in counted.most_common(3))


def text(entries: Sequence[Entry], budget: int) -> str:
    """The entries as they stand in a prompt, those that fit; what does not fit is named by its message.

    Rates, prices and specifications come to the budget first, then what was told in sentences, each newest first.
    """
    shown: set[int] = set()
    for at in sorted(range(len(entries)), key=lambda at: (is_exact(entries[at].item.text), at), reverse=True):
        budget -= tokens.estimate(_line(entries[at])) + 1
        if budget >= 0:
            shown.add(at)
    lines = [_line(entry) for at, entry in enumerate(entries) if at in shown]
    left_out = sorted({entry.item.n for at, entry in enumerate(entries) if at not in shown})
    numbers = ", ".join(f"#{n}" for n in left_out[:_NAMED])
    return "\n".join([*([f"- … {numbers}"] if left_out else []), *lines])


def is_exact(text: str) -> bool:
    """Whether an item is a datum by itself: a row, or a figure with its unit, in few words."""
    return len(text) <= _EXACT and _DATUM.search(text) is not None


def _line(entry: Entry) -> str:
    line = f"- {entry.item.text} (#{entry.item.n})"
    if not entry.outdated:
        return line
    word = "устарело" if is_cyrillic(entry.item.text) else "outdated"
    return f"{line} [{word}: {'; '.join(f'{shorten(old.text, _OLD)} (#{old.n})' for old in entry.outdated[-2:])}]"
