"""The thread of one conversation: chat_history and its tail, goals, save points, topics, anchors by the model."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import NoSingleMatch, SessionNotFound
from letopis.lifecycle.anchor import anchor
from letopis.lifecycle.housekeep import housekeep
from letopis.llm.connect import Models
from letopis.llm.port import Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory, open_memory
from letopis.model import goals, thread, windows
from letopis.short_term import look_up, topics
from letopis.short_term.tail import tail
from letopis.store.init import init
from tests.conftest import HandClock, Opener, assistant, user
from tests.test_messages import stored


def talk(memory: Memory, *texts: str, key: str = "k") -> str:
    session_id = ""
    for at, text in enumerate(texts):
        session_id = memory.append(key, (assistant if at % 2 else user)(text)).session_id
    return session_id


def rows(memory: Memory) -> list[tuple[object, ...]]:
    memory.index.sync()
    with sqlite3.connect(memory.index.path) as connection:
        return connection.execute("SELECT session, n, role, text FROM chat_history ORDER BY session, n").fetchall()


# --- chat_history and its tail ------------------------------------------------------------------


def test_chat_history_is_a_view_of_what_is_live(memory: Memory) -> None:
    session_id = talk(memory, "ЦЕНА Ёлки", "900")
    memory.append("k", {**assistant("SEARCH_HISTORY: x"), "internal": True})
    other = talk(memory, "другое", key="other")
    assert set(rows(memory)) == {
        (session_id, 1, "user", "цена елки"),
        (session_id, 2, "assistant", "900"),
        (other, 1, "user", "другое"),
    }
    memory.close("k")
    assert [row[0] for row in rows(memory)] == [other]
    memory.drain()
    again = talk(memory, "новая беседа")
    assert [row[:2] for row in rows(memory) if row[0] != other] == [(again, 1)]
    assert [m.text for m in memory.tail("k", 1_000)] == ["новая беседа"]


def test_a_superseded_turn_leaves_the_history(memory: Memory) -> None:
    session_id = talk(memory, "раз", "два", "три", "четыре")
    rows(memory)
    memory.store.transcripts.append_records(
        "k", session_id, [{"_type": "superseded", "session_id": session_id, "n": [1, 2]}]
    )
    assert [row[1] for row in rows(memory)] == [3, 4]
    assert [m.n for m in memory.tail("k", 1_000)] == [3, 4]


STEPS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "internal"]), st.integers(1, 60)), max_size=25)


@given(STEPS, st.integers(0, 400))
def test_the_tail_is_the_same_with_and_without_the_database(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], budget: int
) -> None:
    folder = tmp_path_factory.mktemp("w")
    init(folder)
    with open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none") as memory:
        session_id = memory.append("k", user("начало")).session_id
        for role, length in steps:
            wire = {"role": "assistant" if role == "internal" else role, "content": "слово " * length}
            memory.append("k", {**wire, "tool_call_id": "a", "internal": role == "internal"})
        found = [m.n for m in tail(memory.store, memory.index, session_id, budget)]
        transcript = memory.store.sessions.transcript(session_id)
        assert found == [row.n for row in windows.fitting(windows.rows(transcript.messages[::-1]), budget)]
        told = [m.n for m in transcript.messages if not m.internal]
        assert found == told[len(told) - len(found) :]
        assert found
        cost = sum(row.tokens for row in windows.rows(transcript.messages) if row.n in found)
        assert cost <= budget or sum(m.role == "user" for m in transcript.messages if m.n in found) <= 1


@pytest.mark.parametrize("harm", ["missing", "damaged", "locked"])
def test_without_the_database_the_transcript_answers(opened: Opener, harm: str) -> None:
    memory = opened()
    session_id = talk(memory, *(f"сообщение {n}" for n in range(40)))
    expected = [m.n for m in memory.tail("k", 60)]
    assert 0 < len(expected) < 40
    path, lock = memory.index.path, None
    if harm == "locked":
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN EXCLUSIVE")
    else:
        memory.index.close()
        for file in path.parent.glob("vector.db*"):
            file.unlink()
        if harm == "damaged":
            path.write_bytes(b"this is no database" * 400)
    memory.append("k", user("сообщение последнее"))
    found = tail(memory.store, memory.index, session_id, 60)
    assert found[-1].text == "сообщение последнее"
    assert look_up(memory.store, memory.index, session_id, "сообщение 7", 1_000, 1 << 40).lines[0].source == "#8"
    if lock is not None:
        lock.close()


def test_the_head_of_the_tail_is_behind_what_is_folded(memory: Memory) -> None:
    session_id = talk(memory, "раз", "два", "три", "четыре")
    memory.store.transcripts.append_state("k", session_id, {"folded_through": 2, "folded_summary": {}})
    assert [m.n for m in memory.tail("k", 1_000)] == [3, 4]
    assert memory.tail("none", 1_000) == []


@pytest.mark.parametrize(
    ("words", "text"), [("8215", "TASK-48215b закрыт"), ("%%", "рост %% за год"), ("_id", "поле user_id")]
)
def test_a_part_of_a_word_is_found_letter_for_letter(memory: Memory, words: str, text: str) -> None:
    session_id = talk(memory, "пусто", "и тут", text, "ничего")
    for index in (memory.index, memory.index):
        found = look_up(memory.store, index, session_id, words, 1_000, 1 << 40)
        assert [line.text for line in found.lines] == [text]
    memory.close("k")
    found = look_up(memory.store, memory.index, session_id, words, 1_000, 1 << 40)
    assert [line.text for line in found.lines] == [text]


# --- goals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["Мне нужно собрать шкаф для прихожей."], [("собрать шкаф для прихожей", "open")]),
        (["I want to book a flight to Lisbon."], [("book a flight to Lisbon", "open")]),
        (["Задача: посчитать смету на кухню"], [("посчитать смету на кухню", "open")]),
        (["Давай посчитаем смету на кухню", "Смету на кухню сделали"], [("посчитаем смету на кухню", "done")]),
        (["Let's plan the garden beds.", "Never mind the garden beds."], [("plan the garden beds", "dropped")]),
        (["Хочу выбрать доски для пола", "Готово!"], [("выбрать доски для пола", "done")]),
        (["Хочу выбрать доски для пола", "Пока не готово"], [("выбрать доски для пола", "open")]),
        (["Хочу выбрать доски для пола", "Какие доски для пола прочнее?"], [("выбрать доски для пола", "advanced")]),
        (["I need to fix the roof", "I do not need to fix the car"], [("fix the roof", "open")]),
        (["Let's talk about something else: my trip to Lisbon"], []),
        (["Давай поговорим о погоде"], []),
        (["Ещё мне надо оформить загранпаспорт"], [("оформить загранпаспорт", "open")]),
        (["I'm trying to learn Rust"], [("learn Rust", "open")]),
        (["Мне нужно купить велосипед сыну", "Велосипед купил"], [("купить велосипед сыну", "done")]),
        (["I need to buy a bicycle", "I bought the bicycle, thanks"], [("buy a bicycle", "done")]),
        (["Мне надо починить кран", "Я не починил кран"], [("починить кран", "open")]),
        (["I want to build the deck", "I gave up on the deck"], [("build the deck", "dropped")]),
        (
            ["I need to finish the quarterly report", "I haven't finished the quarterly report"],
            [("finish the quarterly report", "open")],
        ),
        (["Мне нужно сделать отчёт", "Отчёт почти готов, готово на три четверти"], [("сделать отчёт", "open")]),
        (["Мне нужно знать, сколько стоит доска"], []),
        (["Как дела?", "Помоги выбрать?"], []),
        (["Мой пароль: qwerty12345. Хочу сменить пароль: qwerty12345"], []),
    ],
)
def test_what_is_said_opens_moves_and_ends_goals(said: list[str], expected: list[tuple[str, str]]) -> None:
    messages = [stored(n, role="user", content=text) for n, text in enumerate(said, 1)]
    found: dict[str, goals.Goal] = {}
    for message in messages:
        found |= {g.id: g for g in goals.said([message], found.values())}
    assert [(g.text, g.state) for g in found.values()] == expected


def test_goals_stand_in_the_prompt_until_they_end(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=unwilling))
    session_id = talk(memory, "Мне нужно собрать шкаф для прихожей.", "Хорошо, начнём.")
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    goal = memory.goals("k")[0]
    assert goal.text in str(memory.context("k").messages[0]["content"])
    model = ScriptedModel(calling("goal_done", {"goal": "шкаф"}), "Готово.", otherwise=unwilling)
    memory = opened(model)
    memory.turn("k", "Проверь список дел")
    assert [g.state for g in memory.goals("k")] == ["done"]
    assert goal.text not in str(memory.context("k").messages[0]["content"]).partition("Goals still open")[2]
    memory = opened(ScriptedModel(calling("goal_set", {"goal": "Купить петли"}), "Записал.", otherwise=unwilling))
    memory.turn("k", "Нужны ещё петли")
    assert next((g.text, g.state) for g in memory.goals("k")) == ("Купить петли", "open")
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    assert len(memory.goals("k")) == 2
    from letopis.short_term.goals import end_goal

    with pytest.raises(NoSingleMatch, match="петли"):
        end_goal(memory.store, memory.store.sessions.transcript(session_id), "ракета", 9)


def unwilling(request: Request) -> object:
    """A model that notes nothing."""
    return calling(request.tools[0].name, {}) if len(request.tools) == 1 else "Хорошо."


@given(st.lists(st.text(max_size=80), max_size=6))
def test_whatever_is_said_the_goals_can_be_followed(texts: list[str]) -> None:
    known = [goals.new("🎉", 1), goals.new("Купить хлеб", 1), goals.new("buy a bicycle", 1)]
    messages = [stored(n, role="user", content=text) for n, text in enumerate(texts, 2)]
    assert all(goal.text for goal in goals.said(messages, known))


# --- anchors by the model, topics ---------------------------------------------------------------


def test_a_model_notes_what_must_stay_and_what_it_invents_is_left_out(opened: Opener) -> None:
    told = {
        "topic": "доски для пола",
        "data": [
            {"text": "Аванс внесён: 3000 рублей", "n": 1},
            {"text": "Скидка 15 %", "n": 1},
            {"text": "Аванс внесён: 3000 рублей", "n": 99},
        ],
        "goals_opened": ["выбрать доски для пола", "полететь на Марс 7 мая"],
    }
    model = ScriptedModel(otherwise=lambda request: calling(request.tools[0].name, told))
    memory = opened(model)
    session_id = talk(
        memory, "Выбираем доски для пола. Аванс внесён: 3000 рублей.\n- дуб: 45 000\n- бук: 38 000", "Понял."
    )
    placed = anchor(memory.store, memory.index, memory.models.background, memory.store.sessions.transcript(session_id))
    assert [a.topic for a in placed] == ["доски для пола"]
    texts = [item.text for item in placed[0].data]
    assert any("3000" in text for text in texts)
    assert any("45 000" in text for text in texts)
    assert not any("15" in text for text in texts)
    assert placed[0].goals == ("выбрать доски для пола",)
    assert memory.store.sessions.transcript(session_id).anchors == placed


class FakeVectors:
    """Two topics, two directions."""

    identity = "two/directions"

    def passages(self, texts: list[str]) -> np.ndarray:
        rows = [[1.0, 0.1 * len(t) % 0.3, 0.0] if "доск" in t else [0.0, 0.1 * len(t) % 0.3, 1.0] for t in texts]
        return np.asarray(rows, np.float32)

    queries = passages


BOARDS = (
    "Какие доски взять для пола?",
    "Доски из дуба прочнее.",
    "А доски из бука дешевле?",
    "Да, доски из бука мягче.",
)
TRIP = ("Посоветуй короткий маршрут отпуска вдоль озера с палаткой", "Возьмите карту северного берега.")


@pytest.mark.parametrize("with_vectors", [True, False])
def test_an_anchor_is_placed_where_the_topic_changes(folder: Path, clock: HandClock, with_vectors: bool) -> None:
    embedder = FakeVectors() if with_vectors else None
    memory = open_memory(folder, models=Models(None, None), embedder=embedder, clock=clock, environ={})  # type: ignore[arg-type]
    if not with_vectors:
        memory = open_memory(folder, models=Models(None, None), clock=clock, environ={}, embedding__kind="none")
    session_id = talk(memory, *BOARDS, *TRIP)
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    transcript = memory.store.sessions.transcript(session_id)
    assert [(a.first, a.last, a.reason) for a in transcript.anchors] == [(1, 4, "the topic changed")]
    assert transcript.topic_from == 5
    talk(memory, "А палатку какую взять с собой?", "Двухместную.")
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    assert len(memory.store.sessions.transcript(session_id).anchors) == 1
    if with_vectors:
        assert memory.index.fill() >= 0
        assert memory.index.status().without_vector == 0


def test_a_topic_goes_on_where_words_are_shared() -> None:
    running = [stored(n, role="user", content=text) for n, text in enumerate(BOARDS, 1)]
    same = [stored(9, role="user", content="Сколько стоят доски из дуба и бука для пола террасы?")]
    other = [stored(9, role="user", content=TRIP[0])]
    short = [stored(9, role="user", content="А сколько?")]
    assert not topics.shifts(same, running, None, None)
    assert topics.shifts(other, running, None, None)
    assert not topics.shifts(short, running, None, None)
    assert topics.probability(other, [], None, None) == 0


# --- save points --------------------------------------------------------------------------------


def test_a_thread_is_rebuilt_from_the_anchor_before_a_point(opened: Opener) -> None:
    memory = opened()
    session_id = talk(memory, "Прайс:\n- дуб: 45 000 руб.\n- бук: 38 000 руб.", "Записал.")
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    talk(memory, "Теперь про лак", "Какой?", "Исправление:\n- дуб: 48 000 руб.\n- бук: 39 000 руб.", "Учёл.")
    housekeep(memory.store, memory.index, memory.models, session_id, memory.room)
    early = memory.restore(session_id, 4)
    assert early.thread.anchor is not None
    assert early.thread.anchor.last == 2
    assert "45 000" in early.text()
    assert "48 000" not in early.text()
    assert [m.n for m in early.messages] == [3, 4]
    late = memory.restore(session_id, "исправление дуб")
    assert late.thread.n == 5
    assert "48 000" in late.text()
    assert memory.restore(session_id, "#6", budget=1).thread.n == 6
    reopened = opened()
    assert reopened.restore(session_id, 4) == early
    for wrong in (0, 99, "кирпич"):
        with pytest.raises(SessionNotFound):
            memory.restore(session_id, wrong)


def test_the_thread_never_loses_the_newest_value_of_an_item() -> None:
    from letopis.model.anchoring import Anchor, Item
    from letopis.model.transcript import Transcript

    anchors = [
        Anchor(
            "",
            tuple(Item(f"Цена доски {chr(1072 + n)}{chr(1080 + n)}о: {n + 100 * k} руб.", k) for n in range(20)),
            k,
            k,
            "",
        )
        for k in range(1, 5)
    ]
    made = thread.at(Transcript(anchors=anchors), 4)
    text = made.text()
    assert all(f": {n + 400} руб. (#4)" in text for n in range(20))
    assert made.text(150).startswith("- …")


def test_what_was_edited_away_leaves_the_value_before_it_standing() -> None:
    from letopis.model.anchoring import Anchor, Item
    from letopis.model.transcript import Transcript

    anchors = [Anchor("", (Item(f"Цена дуба: {n}0 руб.", n),), n, n, "") for n in (5, 7)]
    goal = goals.Goal("g1", "купить дуб", "open", 7, 7)
    edited = Transcript(anchors=anchors, goals=[goal], superseded=[(7, 8)])
    assert thread.at(edited, 9).text() == "- Цена дуба: 50 руб. (#5)"


def test_a_malformed_goal_hides_no_message() -> None:
    from letopis.model.transcript import Transcript

    odd = b'{"_type":"goal","id":"g1","goal":"x","state":"paused","n":[1,4]}\n{"_type":"anchor","n":[1,4]}\n'
    assert Transcript().feed(odd).superseded == []
