"""Look-ups inside one conversation: exact, newest first, by tool or by the marker that is never shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import AnswerUnusable
from letopis.llm.connect import Models
from letopis.llm.port import Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory, open_memory
from letopis.model.marker import Markers
from letopis.short_term import Looked, look_up
from letopis.store.init import init
from letopis.turn import Done, Failed, TextDelta
from tests.conftest import HandClock, Opener, assistant, user


def looked(memory: Memory, words: str, budget: int = 2_000, before: int = 10**9) -> Looked:
    session_id = memory.history(key="k")[0].session_id
    return look_up(memory.store, memory.index, session_id, words, budget, before)


# --- look-ups -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("цена", "ЦЕНА доставки 500"),
        ("цена", "таблица: цены выросли"),
        ("ёлка", "Купили елку за 900"),
        ("100%", "Скидка 100% до мая"),
        ("a_b", "Переменная a_b равна 7"),
        ("TASK-4821", "Закрыли TASK-4821"),
        ("ЛДСП", "лист лдсп 16 мм"),
        ("price", "The prices: oak 45"),
    ],
)
def test_a_word_in_any_form_is_found(memory: Memory, words: str, text: str) -> None:
    memory.append("k", user(text))
    for number in range(30):
        memory.append("k", user(f"пустое сообщение {number}"))
    assert [line.text for line in looked(memory, words).lines] == [text]


def test_all_words_come_before_some_and_the_newest_first(memory: Memory) -> None:
    for text in ("цена дуба 10", "цена дуба 20", "цена сосны 5", "просто дуб"):
        memory.append("k", user(text))
    found = looked(memory, "цена дуба")
    assert found.every
    assert [line.text for line in found.lines] == ["цена дуба 20", "цена дуба 10"]
    some = looked(memory, "цена клёна")
    assert not some.every
    assert [line.source for line in some.lines] == ["#3", "#2", "#1"]
    assert "some of them" in some.text()
    assert looked(memory, "кирпич").lines == ()
    assert "Nothing" in looked(memory, "кирпич").text()
    assert looked(memory, "  ").lines == ()


def test_signs_count_where_they_are_given(memory: Memory) -> None:
    for text in ("скидка 100% на всё", "100 рублей"):
        memory.append("k", user(text))
    assert looked(memory, "100%").lines[0].text == "скидка 100% на всё"


def test_the_request_itself_and_what_is_hidden_are_not_found(memory: Memory) -> None:
    memory.append("k", user("цена 10"))
    memory.append("k", {**assistant("цена 99"), "internal": True})
    asked = memory.append("k", user("какая цена?"))
    assert [line.source for line in looked(memory, "цена", before=asked.n).lines] == ["#1"]
    memory.append("other", user("цена 77"))
    assert all("77" not in line.text for line in looked(memory, "цена").lines)


def test_of_a_long_message_the_lines_that_hold_the_words_are_given(memory: Memory) -> None:
    rows = [f"Позиция {n}: {n * 100} рублей за штуку, поставка со склада" for n in range(60)]
    memory.append("k", user("\n".join(rows)))
    line = looked(memory, "позиция 37").lines[0].text
    assert "Позиция 37: 3700" in line
    assert len(line) < 1_000


def test_a_budget_is_kept_and_what_is_left_out_is_counted(memory: Memory) -> None:
    for number in range(30):
        memory.append("k", user(f"цена номер {number} " + "слово " * 20))
    found = looked(memory, "цена", budget=200)
    assert 0 < len(found.lines) < 10
    assert found.total == 30
    assert "more messages" in found.text()


texts = st.lists(st.text("абвгде АБ .,%_-\n", min_size=1, max_size=40), min_size=1, max_size=12)


@given(said=texts, words=st.text("абвгде %_-", max_size=12))
@pytest.mark.timeout(120)
def test_without_the_index_the_answer_is_the_same(
    clock: HandClock, tmp_path_factory: pytest.TempPathFactory, said: list[str], words: str
) -> None:
    folder = tmp_path_factory.mktemp("same")
    init(folder)
    memory = open_memory(folder, models=Models(None, None), clock=clock, environ={}, embedding__kind="none")
    for text in said:
        memory.append("k", user(text))
    found = looked(memory, words)
    memory.index.close()
    path = folder / "memory/vector.db"
    for companion in folder.glob("memory/vector.db*"):
        companion.unlink()
    path.mkdir()
    assert looked(memory, words) == found


# --- the marker ---------------------------------------------------------------------------------


def split(text: str, size: int) -> tuple[str, list[str]]:
    markers = Markers()
    shown = "".join(markers.take(text[at : at + size]) for at in range(0, len(text), size))
    return shown + markers.rest(), markers.asked


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("text", "shown", "asked"),
    [
        ("SEARCH_HISTORY: цена дуба", "", ["цена дуба"]),
        ("Смотрю.\nSEARCH_HISTORY: цена\n", "Смотрю.\n", ["цена"]),
        ("  SEARCH_HISTORY:   цена  ", "", ["цена"]),
        ("SEARCH_HISTORY: a\nSEARCH_HISTORY: b", "", ["a", "b"]),
        ("SEARCH_HISTORY:", "", []),
        ("SEARCH_HISTORY: \nОтвет", "Ответ", []),
        ("```\nSEARCH_HISTORY: x\n```\nвсё", "```\nSEARCH_HISTORY: x\n```\nвсё", []),
        ("~~~\n```\nSEARCH_HISTORY: x\n~~~\nSEARCH_HISTORY: y", "~~~\n```\nSEARCH_HISTORY: x\n~~~\n", ["y"]),
        ("> SEARCH_HISTORY: x", "> SEARCH_HISTORY: x", []),
        ("Пишу «SEARCH_HISTORY: x»", "Пишу «SEARCH_HISTORY: x»", []),
        ("`SEARCH_HISTORY: x`", "`SEARCH_HISTORY: x`", []),
        ("SEARCH_HIST", "SEARCH_HIST", []),
        ("SEARCH is on", "SEARCH is on", []),
        ("a\r\nSEARCH_HISTORY: x\r\nb", "a\r\nb", ["x"]),
        ("", "", []),
    ],
)
def test_the_marker_is_taken_out_however_the_text_is_cut(text: str, size: int, shown: str, asked: list[str]) -> None:
    assert split(text, size) == (shown, asked)


@given(st.text("SEARCH_HISTORY: \n`>ab", max_size=60), st.integers(1, 9))
def test_pieces_of_any_size_give_the_same(text: str, size: int) -> None:
    assert split(text, size) == split(text, 1_000)


def test_a_reply_that_asks_is_answered_in_a_second_pass_and_never_shown(opened: Opener) -> None:
    model = ScriptedModel("Сейчас.\nSEARCH_HISTORY: цена дуба", "Дуб стоит 45000.")
    memory = opened(model)
    memory.append("k", user("Цена дуба — 45000 рублей"))
    memory.append("k", assistant("Записал"))
    events = list(memory.stream("k", "Сколько стоил дуб?"))
    shown = "".join(e.text for e in events if isinstance(e, TextDelta))
    done = events[-1]
    assert isinstance(done, Done)
    assert shown == done.text == "Сейчас.\nДуб стоит 45000."
    assert "Цена дуба — 45000 рублей" in str(model.requests[1].messages[-1])
    assert "[#1 " in str(model.requests[1].messages[-1])
    stored = memory.history(key="k")[1].messages
    assert [m.internal for m in stored] == [False, False, False, True, True, False]
    assert memory.search("SEARCH_HISTORY").status == "empty"
    assert memory.context("k").messages[-1] == {"role": "assistant", "content": done.text}
    again = memory.context("k").messages
    assert "SEARCH_HISTORY" not in str(again[1:])


def test_nothing_found_is_said_to_the_model(opened: Opener) -> None:
    model = ScriptedModel("SEARCH_HISTORY: кирпич", "Об этом не говорили.")
    memory = opened(model)
    assert memory.turn("k", "Сколько стоил кирпич?").text == "Об этом не говорили."
    assert "Nothing in this conversation holds 'кирпич'" in str(model.requests[1].messages[-1])


def test_endless_asking_ends_in_an_error_and_the_message_is_kept(opened: Opener) -> None:
    model = ScriptedModel(otherwise="SEARCH_HISTORY: цена")
    memory = opened(model)
    failed = memory.turn("k", "Цена?")
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, AnswerUnusable)
    assert len(model.requests) == 3
    assert memory.history(key="k")[1].messages[0].text == "Цена?"
    model.enqueue("Ответ.\nSEARCH_HISTORY: x", "SEARCH_HISTORY: y", "Конец.\nSEARCH_HISTORY: z")
    assert memory.turn("k", "Ещё?").text == "Ответ.\nКонец.\n"


def test_a_marker_of_the_user_is_text(opened: Opener) -> None:
    model = ScriptedModel("Хорошо.")
    memory = opened(model)
    memory.turn("k", "SEARCH_HISTORY: цена")
    assert len(model.requests) == 1
    assert memory.history(key="k")[1].messages[0].text == "SEARCH_HISTORY: цена"


def test_a_look_up_fits_the_window(opened: Opener) -> None:
    sizes = []

    def answer(request: Request) -> str:
        sizes.append(sum(len(str(m["content"])) for m in request.messages))
        return "SEARCH_HISTORY: слово" if len(sizes) < 3 else "Вот."

    memory = opened(ScriptedModel(otherwise=answer), context_window_tokens=3_000, model__max_tokens=300)
    for number in range(40):
        memory.append("k", user(f"слово {number} " + "слово " * 100))
    assert memory.turn("k", "что там?").text == "Вот."
    assert max(sizes) < 3_000 * 4


def test_the_tool_gives_the_same_look_up(opened: Opener, folder: Path) -> None:
    model = ScriptedModel(calling("history_search", {"words": "цена дуба"}), "45000.")
    memory = opened(model)
    memory.append("k", user("Цена дуба — 45000 рублей"))
    memory.turn("k", "Сколько стоил дуб?")
    result = str(model.requests[1].messages[-1]["content"])
    assert "Цена дуба — 45000 рублей" in result
    assert '"source": "#1"' in result


def test_a_message_that_was_answered_after_a_look_up_is_not_answered_twice(opened: Opener) -> None:
    model = ScriptedModel("SEARCH_HISTORY: цена", "45.")
    memory = opened(model)
    first = memory.turn("k", {"role": "user", "content": "Цена?", "id": "m1"})
    again = memory.turn("k", {"role": "user", "content": "Цена?", "id": "m1"})
    assert (again.text, again.n) == (first.text, first.n)
    assert len(model.requests) == 2
