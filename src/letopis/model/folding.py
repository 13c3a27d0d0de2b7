"""The summary of the folded part of a conversation: a few lists that later folds extend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from letopis.model import tokens
from letopis.model.explicit import attribute
from letopis.model.facts import comparable
from letopis.model.text import is_cyrillic, one_line, shorten

LISTS = ("done", "decided", "facts", "open", "files")
_FIRST_TO_GO = ("done", "open", "files")
_LONGEST_ITEM = 300
_ENGLISH = {
    "goal": "Goal", "done": "Done", "decided": "Decided", "facts": "Facts and figures", "open": "Open questions",
    "files": "Files and names", "dropped": "older items are left out here; the tools find them",
}  # fmt: skip
_RUSSIAN = {
    "goal": "Цель", "done": "Сделано", "decided": "Решено", "facts": "Факты и цифры", "open": "Открытые вопросы",
    "files": "Файлы и имена", "dropped": "более старых пунктов здесь нет; их находят инструменты",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Folded:
    """What was folded so far. `outdated` is what a new part makes untrue; `dropped` counts what did not fit."""

    goal: str = ""
    done: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    dropped: int = 0

    def record(self) -> dict[str, Any]:
        """The summary as it stands in a state line."""
        lists = {name: list(getattr(self, name)) for name in LISTS}
        return {"goal": self.goal, **lists, "dropped": self.dropped}

    def text(self) -> str:
        """The summary as Markdown, in the language of its items; empty where there is nothing."""
        return _text(self)


@lru_cache(maxsize=256)
def _text(folded: Folded) -> str:
    items = " ".join([folded.goal, *(item for name in LISTS for item in getattr(folded, name))])
    labels = _RUSSIAN if is_cyrillic(items) else _ENGLISH
    lines = [f"{labels['goal']}: {folded.goal}"] if folded.goal else []
    for name in LISTS:
        own = getattr(folded, name)
        lines += [f"{labels[name]}:", *(f"- {item}" for item in own)] if own else []
    if lines and folded.dropped:
        lines.append(f"[{folded.dropped} {labels['dropped']}]")
    return "\n".join(lines)


def parse(value: object) -> Folded:
    """The summary of a state line; what is not one is an empty one."""
    if not isinstance(value, Mapping):
        return Folded()
    lists = {name: _texts(value.get(name)) for name in LISTS}
    goal, dropped = value.get("goal"), value.get("dropped")
    return Folded(
        goal=goal if isinstance(goal, str) else "",
        **lists,
        dropped=dropped if isinstance(dropped, int) and not isinstance(dropped, bool) else 0,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def extended(before: Folded, part: Folded, budget: int) -> Folded:
    """The summary with a newer part: nothing is told twice, the newest value counts, the oldest goes first."""
    gone = {comparable(item) for item in part.outdated}
    lists = {}
    for name in LISTS:
        newer = [shorten(one_line(item), _LONGEST_ITEM) for item in getattr(part, name) if one_line(item)]
        known = {comparable(item) for item in newer} | gone
        older = [i for i in getattr(before, name) if comparable(i) not in known and not _superseded(i, newer)]
        lists[name] = tuple(dict.fromkeys([*older, *newer]))
    goal = shorten(one_line(part.goal), _LONGEST_ITEM) or before.goal
    return bounded(Folded(goal=goal, **lists, dropped=before.dropped), budget)


def _superseded(item: str, newer: Sequence[str]) -> bool:
    """Whether a newer item gives another value to the same attribute."""
    own = attribute(item)
    others = filter(None, map(attribute, newer)) if own else ()
    return own is not None and any(other[0] == own[0] and other[1] != own[1] for other in others)


def bounded(folded: Folded, budget: int) -> Folded:
    """The summary within so many tokens; what goes is counted."""
    while tokens.estimate(folded.text()) > budget:
        longer = max(("facts", "decided"), key=lambda name: len(getattr(folded, name)))
        name = next((n for n in (*_FIRST_TO_GO, longer) if getattr(folded, n)), None)
        if name is None:
            return replace(folded, goal="") if folded.goal else folded
        folded = replace(folded, **{name: getattr(folded, name)[1:]}, dropped=folded.dropped + 1)
    return folded
