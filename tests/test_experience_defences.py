"""What a review found in the bank of experience, each as a test."""

import json
from pathlib import Path

import numpy as np
import pytest

from letopis.errors import InvalidInput, Unavailable
from letopis.experience.add import Added, add
from letopis.llm.connect import Models
from letopis.llm.scripted import ScriptedModel
from letopis.memory import Memory, open_memory
from letopis.model import evidence, pairs
from letopis.turn import Done
from tests.conftest import HandClock, Opener
from tests.test_experience import FIVE, PARCEL, filled, state

ODD = [
    {"_type": "wording", "case": "\ud800", "question": "how"},
    {"_type": "suggested", "id": "s1", "question": "q", "draft": "", "cases": [], "confidence": "nan", "verdict": "ask",
     "signals": {}, "at": ""},
    {"_type": "suggested", "id": "s2", "question": "q", "draft": "", "cases": [], "confidence": 1, "verdict": "ask",
     "signals": {"margin": "inf"}, "at": ""},
    {"_type": "lesson", "id": "\ud800", "when": "\ud800", "do": "x", "dont": "", "at": "\ud800", "by": "x",
     "examples": [], "evidence": []},
]  # fmt: skip


@pytest.mark.parametrize("record", ODD, ids=range(len(ODD)))
def test_an_odd_line_hinders_no_turn_and_no_search(opened: Opener, record: dict[str, object]) -> None:
    memory = filled(opened(ScriptedModel(otherwise="Хорошо.")))
    with (memory.store.workspace.experience / "dostavka.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    assert isinstance(memory.turn("k", PARCEL), Done)
    assert memory.search("посылка").hits
    assert memory.suggest(PARCEL).draft == FIVE


def test_a_confidence_without_end_is_no_number(opened: Opener) -> None:
    memory = filled(opened(ScriptedModel(otherwise="Хорошо.")))
    line = json.dumps({**ODD[1], "confidence": 1}).replace('"confidence": 1', '"confidence": 1' + "0" * 400)
    with (memory.store.workspace.experience / "dostavka.jsonl").open("a") as file:
        file.write(line + "\n")
    assert isinstance(memory.turn("k", PARCEL), Done)


def test_experience_that_cannot_be_read_hinders_no_turn(opened: Opener, folder: Path) -> None:
    (folder / "experience").write_text("a file", "utf-8")
    memory = opened(ScriptedModel("Посылка идёт пять дней.", otherwise="Хорошо."))
    assert isinstance(memory.turn("k", PARCEL), Done)
    assert isinstance(memory.turn("k", "Неправильно, посылка идёт семь дней"), Done)


def test_an_embedder_that_fails_leaves_words(folder: Path, clock: HandClock) -> None:
    class Failing:
        identity = "failing/2"
        works = True

        def passages(self, texts: list[str]) -> np.ndarray:
            if not self.works:
                raise Unavailable("down")
            return np.asarray([[1.0, len(text) % 7] for text in texts], np.float32)

        queries = passages

    embedder = Failing()
    model = ScriptedModel(otherwise="Хорошо.")
    memory = open_memory(folder, models=Models(model, None), embedder=embedder, clock=clock, environ={})  # type: ignore[arg-type]
    filled(memory)
    memory.suggest(PARCEL)
    embedder.works = False
    again = open_memory(folder, models=Models(model, None), embedder=embedder, clock=clock, environ={})  # type: ignore[arg-type]
    assert isinstance(again.turn("k", PARCEL), Done)
    assert again.suggest(PARCEL).draft == FIVE


def test_a_lone_surrogate_of_a_case_reaches_no_prompt(opened: Opener) -> None:
    model = ScriptedModel(otherwise="Хорошо.")
    memory = opened(model)
    add(memory.desk, PARCEL, "Посылка \ud800 идёт пять дней.")
    memory.turn("k", PARCEL)
    str(model.requests[-1].messages[-1]["content"]).encode()


@pytest.mark.parametrize("renamed", ["Доставка.jsonl", "a.jsonl"])
def test_events_go_to_the_file_of_their_case(opened: Opener, renamed: str) -> None:
    memory = filled(opened())
    place = memory.store.workspace.experience
    (place / "dostavka.jsonl").rename(place / renamed)
    memory.review(memory.suggest(PARCEL).id, "edited", "Посылка идёт три рабочих дня.")
    again = opened()
    assert again.suggest(PARCEL).draft == "Посылка идёт три рабочих дня."
    with again.store.experience.reading() as bank:
        assert bank.bad == 0


def test_a_short_answer_merges_no_other_question(memory: Memory) -> None:
    first = add(memory.desk, "Do you deliver to Omsk?", "Yes.", "Delivery")
    second = add(memory.desk, "Is the warranty two years?", "Yes.", "Warranty")
    assert isinstance(first, Added)
    assert isinstance(second, Added)
    found = memory.suggest("May dogs come into the shop?")
    made = memory.review(found.id, "rejected", "Yes.")
    assert made.case is not None
    assert made.case.id not in (first.case.id, second.case.id)


def test_a_file_that_somebody_edits_is_read_anew(memory: Memory) -> None:
    filled(memory)
    path = memory.store.workspace.experience / "dostavka.jsonl"
    for longer in ("семь", "двадцать семь"):
        text = path.read_text("utf-8")
        path.write_text(
            text.replace(memory.suggest(PARCEL, keep=False).draft, f"Посылка идёт {longer} рабочих дней."), "utf-8"
        )
        assert memory.suggest(PARCEL, keep=False).draft == f"Посылка идёт {longer} рабочих дней."


def test_a_secret_in_a_question_is_not_kept(memory: Memory) -> None:
    add(memory.desk, "How do I reset my password?", "Settings, Security.")
    found = memory.suggest("How do I reset my password? My password: hunter2Qwerty99")
    memory.review(found.id, "rejected", "Ask the office, please.")
    texts = [path.read_text("utf-8") for path in memory.store.workspace.experience.iterdir()]
    assert not any("hunter2Qwerty99" in text for text in texts)


def test_a_person_outranks_a_model(memory: Memory) -> None:
    filled(memory)
    with pytest.raises(InvalidInput, match="answered already"):
        add(memory.desk, PARCEL, "Посылка идёт сорок дней.", author="model")
    add(memory.desk, "Есть ли парковка?", "Нет.", author="model")
    made = add(memory.desk, "Есть ли парковка?", "Да, бесплатная.")
    assert isinstance(made, Added)
    assert memory.suggest("Есть ли парковка?").draft == "Да, бесплатная."


@pytest.mark.parametrize("outcome", ["approved", "rejected", "edited"])
def test_a_contradiction_ends_when_a_person_decides(opened: Opener, outcome: str) -> None:
    memory = filled(opened())
    seven = "Посылка идёт семь рабочих дней."
    add(memory.desk, PARCEL, seven, "Returns")
    found = memory.suggest(PARCEL)
    assert "contradict" in found.reason
    right = {"approved": "", "rejected": seven if found.draft == FIVE else FIVE, "edited": seven}[outcome]
    memory.review(found.id, outcome, right)
    for own in (memory, opened()):
        after = own.suggest(PARCEL, keep=False)
        assert "contradict" not in after.reason
        assert after.draft == (right or found.draft)


def test_a_rival_that_is_past_contradicts_nothing(memory: Memory, clock: HandClock) -> None:
    filled(memory)
    add(memory.desk, PARCEL, "Посылка идёт семь рабочих дней.", valid_until="2026-03-02")
    assert "contradict" in memory.suggest(PARCEL).reason
    clock.forward(days=9)
    assert memory.suggest(PARCEL).verdict == "answer"


def test_collections_of_other_scripts_have_files_of_their_own(memory: Memory) -> None:
    add(memory.desk, "Вопрос один про возврат?", "Ответ один два.", "退货")
    add(memory.desk, "Другой про доставку?", "Совсем другой ответ.", "送货")
    assert len(list(memory.store.workspace.experience.iterdir())) == 2


def test_a_review_that_is_interrupted_has_its_lesson(opened: Opener) -> None:
    def interrupted(request: object) -> object:
        raise KeyboardInterrupt

    memory = filled(opened(ScriptedModel(otherwise=interrupted)))
    found = memory.desk.keep(memory.desk.suggest(PARCEL))
    with pytest.raises(KeyboardInterrupt):
        memory.review(found.id, "rejected", "Посылка идёт семь рабочих дней.")
    assert len(state(opened())[0][2]) == 1  # type: ignore[index]


def test_long_texts_cost_no_more_than_their_length() -> None:
    assert evidence.ways("«" * 100_000)
    found, problems = pairs.read("x.csv", "question,answer\n" + "q,\n" * 20_000)
    assert (len(found), len(problems)) == (0, 20_000)


def test_a_collection_is_not_starved_by_another(memory: Memory) -> None:
    records = [
        {
            "_type": "case",
            "id": f"c{n}",
            "question": f"Сколько идёт посылка номер {n}?",
            "answer": f"Дней {n}.",
            "author": "import",
        }
        for n in range(260)
    ]
    memory.store.experience.append("A", records)
    add(memory.desk, "Сколько стоит обмен посылки?", "Обмен бесплатный всегда.", "B")
    assert memory.suggest("Сколько идёт обмен посылки?", collection="B", keep=False).cases


def test_one_correction_leaves_the_other_answers_sure(memory: Memory) -> None:
    filled(memory)
    memory.review(memory.suggest(PARCEL).id, "rejected", "Семь рабочих дней.")
    for question in (PARCEL, "Где взять чек за покупку?", "How do I return a jacket?"):
        assert memory.suggest(question, keep=False).verdict == "answer"
    assert memory.suggest(PARCEL, keep=False).draft == "Семь рабочих дней."
