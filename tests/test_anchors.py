"""Anchors: the exact data of a conversation, in its newest form, at hand when it has left the window."""

import pytest

from letopis.lifecycle.housekeep import housekeep
from letopis.memory import Memory
from letopis.model import anchoring
from letopis.model.anchoring import Anchor, Item
from tests.conftest import Opener, assistant, user
from tests.test_messages import stored

PRICES = "Прайс на доски:\n- дуб: 45 000 руб.\n- сосна: 12 000 руб.\n- бук: 38 000 руб."
WINDOW = {"context_window_tokens": 4_000, "model__max_tokens": 500}


def anchor(*data: tuple[str, int]) -> Anchor:
    return Anchor("", tuple(Item(text, n) for text, n in data), 1, 1, "")


def test_rows_stand_under_their_heading_and_tables_lose_their_rules() -> None:
    table = "| порода | цена |\n|---|---|\n| дуб | 45 000 |\n"
    found = anchoring.items([stored(1, role="user", content=PRICES), stored(2, role="assistant", content=table)])
    texts = [item.text for item in found]
    assert "Прайс на доски: дуб: 45 000 руб." in texts
    assert "дуб · 45 000" in texts
    assert len(texts) == 4


def test_small_talk_and_secrets_are_no_data() -> None:
    said = ("Привет! Как дела сегодня?", "Пароль: qwerty12345", "Ну хорошо, спасибо")
    assert anchoring.items([stored(n, role="user", content=t) for n, t in enumerate(said, 1)]) == []


def test_a_corrected_figure_replaces_the_old_one_which_is_named_outdated() -> None:
    known = [anchor(("Цена дуба — 45 000 руб.", 2)), anchor(("Цена сосны — 9 000 руб.", 4))]
    entries = anchoring.ledger([*known, anchor(("Теперь цена дуба — 48 000 руб.", 9))])
    assert [(e.item.n, [o.n for o in e.outdated]) for e in entries] == [(4, []), (9, [2])]
    text = anchoring.text(entries, 1_000)
    assert "48 000 руб. (#9) [устарело: Цена дуба — 45 000 руб. (#2)]" in text
    assert "9 000 руб. (#4)" in text


def test_what_overflows_is_named_with_its_message() -> None:
    entries = anchoring.ledger(
        [anchor(*((f"Позиция {chr(1072 + n)}{chr(1080 + n)} — {n}00 руб.", n) for n in range(20)))]
    )
    text = anchoring.text(entries, 120)
    assert "#0, #1" in text
    assert "1900 руб. (#19)" in text


@pytest.mark.parametrize(
    ("pending", "reason"),
    [
        ([("user", "Привет")], ""),
        ([("user", PRICES)], "a list or table"),
        ([("tool", '{"rows": "x"}\n- дуб 45 000')], "a tool gave data"),
        ([("user", "Цена дуба теперь 48 000 руб.")], "a figure was corrected"),
        ([("user", "слово " * 300), ("assistant", "слово " * 300)], "length"),
        ([("user", "А какая доска дешевле, сосна или дуб, для пола террасы?")], ""),
    ],
)
def test_each_trigger_by_itself(pending: list[tuple[str, str]], reason: str) -> None:
    known = anchoring.values([Item("Цена дуба — 45 000 руб.", 1)])
    new = [stored(n, role=role, content=text) for n, (role, text) in enumerate(pending, 5)]
    assert anchoring.due(new, known) == reason


def test_data_that_left_the_window_stands_in_the_prompt_to_the_figure(opened: Opener) -> None:
    memory = opened(None, **WINDOW)
    memory.append("k", user(PRICES))
    memory.append("k", assistant("Записал."))
    session_id = fill(memory, 40)
    worked = housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    assert {"anchored", "folded"} <= set(worked.done)
    system = str(memory.context("k").messages[0]["content"])
    assert "Прайс на доски: дуб: 45 000 руб. (#1)" in system
    memory.append("k", user("Исправление:\n- дуб: 48 000 руб.\n- сосна: 13 000 руб."))
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    fill(memory, 40)
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    system = str(memory.context("k").messages[0]["content"])
    line = next(line for line in system.splitlines() if "дуб: 48 000 руб." in line)
    assert "устарело" in line
    assert "45 000" in line


def fill(memory: Memory, count: int) -> str:
    session_id = ""
    for number in range(count):
        session_id = memory.append("k", user(f"Шаг {number}: " + "слово " * 30)).session_id
        memory.append("k", assistant("Хорошо. " + "слово " * 30))
    return session_id


def test_lines_that_are_no_anchors_are_passed_over() -> None:
    for record in ({}, {"from": 1, "to": 2}, {"from": "a", "to": 2, "data": []}):
        assert anchoring.parse(record) is None
    found = anchoring.parse({"from": 1, "to": 2, "data": [{"text": "a", "n": 1}, {"text": 3}, None]})
    assert found is not None
    assert found.data == (Item("a", 1),)


def test_a_sentence_keeps_its_unit_behind_an_abbreviation_and_a_question_is_no_data() -> None:
    said = ("Цемент М500 — 450 руб. за мешок. Кирпич — 23,50 руб. за шт.", "Какая нужна толщина слоя номер 7?")
    texts = [i.text for i in anchoring.items([stored(n, role="user", content=t) for n, t in enumerate(said, 1)])]
    assert texts == ["Цемент М500 — 450 руб. за мешок.", "Кирпич — 23,50 руб. за шт."]
    known = [anchor(("Цемент М500 — 450 руб.", 1))]
    entries = anchoring.ledger([*known, anchor(("Цемент подорожал до 470 руб.", 9))])
    assert [(e.item.n, [o.n for o in e.outdated]) for e in entries] == [(9, [1])]
