"""Experience: cases, suggestions, reviews, lessons; what was corrected once is right the next time."""

import json
import multiprocessing
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from letopis.cli.main import cli
from letopis.errors import InvalidInput
from letopis.experience.add import Added, Merged, add
from letopis.experience.beside import beside
from letopis.experience.calibration import first_guess, learnt, probability
from letopis.experience.importing import bring_in
from letopis.experience.matcher import Matcher
from letopis.experience.review import review
from letopis.experience.suggest import Suggestion
from letopis.llm.connect import Models
from letopis.llm.port import Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory, open_memory
from letopis.model import desk_figures, pairs
from letopis.model.bank import Bank
from letopis.model.cases import Suggested, confidence
from letopis.store.init import init
from letopis.tools import ToolContext, available, call
from letopis.turn import Done
from tests import crash
from tests.conftest import HandClock, Opener, assistant, user

PARCEL, FIVE = "Сколько дней идёт посылка по России?", "Посылка идёт пять рабочих дней."
JACKET, LABEL = "How do I return a jacket?", "Print the label in your account and send it within 30 days."


def filled(memory: Memory) -> Memory:
    add(memory.desk, PARCEL, FIVE, "Доставка")
    add(memory.desk, JACKET, LABEL, "Returns")
    add(memory.desk, "Где взять чек за покупку?", "Чек лежит в разделе «Заказы».", "Доставка")
    return memory


def state(memory: Memory) -> object:
    with memory.store.experience.reading() as bank:
        parts = [bank.cases.values(), bank.antipatterns.values(), bank.lessons.values(), bank.suggested.values()]
        return [[one.record() for one in part] for part in parts], list(bank.asked), bank.bad


# --- cases --------------------------------------------------------------------------------------


def test_a_known_answer_is_merged_and_another_one_contradicts(memory: Memory) -> None:
    filled(memory)
    again = add(memory.desk, "Сколько идёт посылка по стране, дней?", FIVE)
    assert isinstance(again, Merged)
    assert again.wording
    assert isinstance(add(memory.desk, PARCEL, FIVE), Merged)
    other = add(memory.desk, PARCEL, "Посылка идёт семь рабочих дней.", "Доставка")
    assert isinstance(other, Added)
    assert [c.answer for c in other.conflicts] == [FIVE]
    found = memory.suggest(PARCEL)
    assert found.verdict == "ask"
    assert {case.answer for case, _ in found.cases} == {FIVE, "Посылка идёт семь рабочих дней."}
    assert "contradict" in found.reason
    review(memory.desk, found.id, "edited", "Посылка идёт семь рабочих дней.")
    assert len({case.answer for case, _ in memory.suggest(PARCEL).cases[:2]}) == 1


@pytest.mark.parametrize(
    ("question", "answer", "author"),
    [("", "a", "operator"), ("q", " ", "operator"), ("q", "пароль: qwerty12345", "operator"), ("q", "a", "nobody")],
)
def test_what_is_no_case_is_refused(memory: Memory, question: str, answer: str, author: str) -> None:
    with pytest.raises(InvalidInput):
        add(memory.desk, question, answer, author=author)
    assert state(memory) == ([[], [], [], []], [], 0)


def test_the_collection_is_the_nearest_one_or_the_one_named(memory: Memory) -> None:
    filled(memory)
    made = add(memory.desk, "Сколько дней идёт посылка в Китай?", "Двадцать дней.")
    assert isinstance(made, Added)
    assert made.case.collection == "dostavka"
    other = add(memory.desk, "Можно ли с собакой в магазин?", "Да.")
    assert isinstance(other, Added)
    assert other.case.collection == "general"
    assert {p.name for p in memory.store.workspace.experience.iterdir()} == {
        "dostavka.jsonl", "returns.jsonl", "general.jsonl",
    }  # fmt: skip


def test_a_case_leaves_suggestions_when_its_day_has_passed(memory: Memory, clock: HandClock) -> None:
    add(memory.desk, PARCEL, FIVE, valid_until="2026-03-05")
    assert memory.suggest(PARCEL).draft == FIVE
    clock.forward(days=6)
    assert memory.suggest(PARCEL).draft == ""
    with memory.store.experience.reading() as bank:
        assert [c.answer for c in bank.cases.values()] == [FIVE]


# --- suggestions and reviews --------------------------------------------------------------------


def test_a_case_is_suggested_with_what_it_rests_on(memory: Memory) -> None:
    filled(memory)
    found = memory.suggest("Сколько дней по России идёт моя посылка?")
    assert (found.verdict, found.draft) == ("answer", FIVE)
    assert found.cases[0][0].question == PARCEL
    nothing = memory.suggest("Какая завтра погода на Марсе?")
    assert (nothing.verdict, nothing.draft, nothing.cases) == ("ask", "", ())
    assert memory.suggest(PARCEL, collection="Returns").draft == ""


@pytest.mark.parametrize(
    ("known", "answer", "asked"),
    [
        ("How do I reset my password?", "Settings, Security.", "How do I reset my phone?"),
        ("How do I reset my password?", "Settings, Security.", "How do I not reset my password?"),
        ("Как вернуть товар?", "14 дней с чеком.", "Можно ли вернуть товар без чека?"),
        ("What are the opening hours?", "Mon to Fri, 9 to 18.", "What are the opening hours on Sunday?"),
        ("Where is the office?", "Moscow.", "Where is the London office?"),
    ],
)
def test_a_condition_more_is_for_a_person(memory: Memory, known: str, answer: str, asked: str) -> None:
    add(memory.desk, known, answer)
    assert memory.suggest(known).verdict == "answer"
    assert memory.suggest(asked).verdict == "ask"


def test_who_rejects_an_answer_to_this_very_question_decides(memory: Memory) -> None:
    filled(memory)
    memory.review(memory.suggest(PARCEL).id, "rejected", "Семь рабочих дней.")
    after = memory.suggest(PARCEL)
    assert after.draft == "Семь рабочих дней."
    assert [a.wrong for a in after.antipatterns] == [FIVE]
    assert not after.cases[0][0].contested


def test_without_vectors_for_most_words_alone_compare(folder: Path, clock: HandClock) -> None:
    class Constant:
        identity = "constant/2"

        def passages(self, texts: list[str]) -> np.ndarray:
            return np.ones((len(texts), 2), np.float32)

        queries = passages

    memory = open_memory(folder, models=Models(None, None), embedder=Constant(), clock=clock, environ={})  # type: ignore[arg-type]
    text = "question,answer\n" + "".join(f"Which part fits model {n}?,Part P-{n * 7}\n" for n in range(60))
    bring_in(memory.desk, "parts.csv", text)
    assert memory.suggest("Which part fits model 12?").draft == "Part P-84"
    assert memory.suggest("Which part fits model 99999?").verdict == "ask"


def test_a_correction_is_right_the_next_time_and_becomes_a_lesson(memory: Memory) -> None:
    filled(memory)
    question = "Сколько дней идёт посылка по России в Якутск?"
    wrong = memory.suggest(question)
    assert (wrong.verdict, wrong.draft) == ("ask", FIVE)
    made = memory.review(
        wrong.id, "rejected", "В Якутск посылка идёт двенадцать дней.", note="дальний район", reviewer="Ольга"
    )
    assert made.lesson is not None
    assert made.lesson.dont == FIVE
    assert not made.repeated
    after = memory.suggest("В Якутск сколько дней идёт посылка?")
    assert after.draft == "В Якутск посылка идёт двенадцать дней."
    assert [a.wrong for a in after.antipatterns] == [FIVE]
    assert [one.id for one in after.lessons] == [made.lesson.id]
    assert memory.suggest(PARCEL).draft == FIVE
    with memory.store.experience.reading() as bank:
        (failure,) = bank.antipatterns.values()
        assert (failure.by, failure.why) == ("Ольга", "дальний район")
    with pytest.raises(InvalidInput, match="Ольга"):
        memory.review(wrong.id, "approved")


def test_failures_of_one_kind_gather_into_one_lesson(memory: Memory) -> None:
    filled(memory)
    right = "В Якутск посылка идёт двенадцать дней."
    lessons, repeated = set(), []
    for place in ("в Якутск", "до города Якутск", "якутским адресатам"):
        found = memory.suggest(f"Сколько дней идёт посылка по России {place}?")
        if found.draft != FIVE:
            found = Suggestion(
                found.question, FIVE, "answer", 0.9, "", ((case_of(memory, FIVE), 0.9),), collection="dostavka"
            )
            found = memory.desk.keep(found)
        made = memory.review(found.id, "rejected", right)
        assert made.lesson is not None
        lessons.add(made.lesson.id)
        repeated.append(made.repeated)
    assert len(lessons) == 1
    assert repeated == [False, True, True]
    with memory.store.experience.reading() as bank:
        (lesson,) = bank.lessons.values()
        assert lesson.count == 3
        assert lesson.confidence > confidence(1, 0, "model")


def case_of(memory: Memory, answer: str):  # type: ignore[no-untyped-def]
    with memory.store.experience.reading() as bank:
        return bank.of_answer(answer)


def test_an_edited_answer_takes_the_place_of_the_old_one_which_stays_readable(memory: Memory) -> None:
    filled(memory)
    found = memory.suggest(PARCEL)
    made = memory.review(found.id, "edited", "Посылка идёт три рабочих дня.")
    assert made.case is not None
    assert [answer for answer, _ in made.case.replaced] == [FIVE]
    assert memory.suggest("Сколько дней идёт по России посылка?").draft == "Посылка идёт три рабочих дня."
    hits = memory.search("посылка пять рабочих дней", scope="experience").hits
    assert {(hit.superseded, "пять" in hit.text) for hit in hits if hit.role == "assistant"} >= {
        (True, True),
        (False, False),
    }


def test_a_rejected_answer_without_a_right_one_warns(memory: Memory) -> None:
    filled(memory)
    question = "Сколько дней идёт посылка по России на Камчатку?"
    memory.review(memory.suggest(question).id, "rejected")
    assert memory.suggest(question).verdict == "ask"


def test_what_cannot_be_reviewed_says_why(memory: Memory) -> None:
    found = memory.suggest("Что нового?")
    for outcome, right, message in (
        ("approved", "", "no draft"),
        ("edited", "", "needs its text"),
        ("liked", "x", "one of"),
    ):
        with pytest.raises(InvalidInput, match=message):
            memory.review(found.id, outcome, right)
    with pytest.raises(InvalidInput, match="no suggestion"):
        memory.review("s0", "approved")
    assert memory.review(found.id, "rejected", "Ничего.").case is not None


def test_confidence_follows_counts_and_reviews() -> None:
    assert confidence(0, 0) > confidence(0, 3) > confidence(0, 9)
    assert confidence(9, 0, "model") > confidence(0, 0, "model")
    signals = {"margin": 0.3, "cover": 0.8, "warned": 0.0, "reliability": 0.9}

    def reviewed(right: bool) -> list[Suggested]:
        one = Suggested("s", "c", "", "q", "d", (), 0.9, "answer", signals, outcome="approved", right=right)
        return [one] * 60

    low, high = (learnt(reviewed(right)) for right in (False, True))
    guess = first_guess(signals)
    assert probability(low[0] + low[1] * guess) < 0.9
    assert probability(high[0] + high[1] * guess) > 0.8
    assert learnt([]) == (0.0, 1.0)


# --- by the model -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draft", "believed"),
    [
        ("Здравствуйте! Посылка идёт пять рабочих дней.", True),
        ("Посылка идёт 12 рабочих дней.", False),
        ("Спросите Аркадия, посылка идёт пять рабочих дней.", False),
        ("Error: 500", False),
    ],
)
def test_a_draft_of_the_model_must_stand_in_the_cases(opened: Opener, draft: str, believed: bool) -> None:
    memory = filled(opened(ScriptedModel(otherwise=calling("draft", {"answer": draft}))))
    assert memory.suggest(PARCEL).draft == (draft if believed else FIVE)


def test_a_lesson_in_the_words_of_the_model(opened: Opener) -> None:
    told = {"when": "Спрашивают о посылке в Якутск", "do": "В Якутск двенадцать дней.", "dont": "Не пять дней."}

    def answered(request: Request) -> object:
        name = request.tools[0].name
        return calling(name, told if name == "lesson" else {"answer": "nothing"})

    memory = filled(opened(ScriptedModel(otherwise=answered)))
    found = memory.desk.keep(memory.desk.suggest("Сколько дней идёт посылка по России в Якутск?"))
    made = memory.review(found.id, "rejected", "В Якутск двенадцать дней.")
    assert made.lesson is not None
    assert (made.lesson.when, made.lesson.by) == (told["when"], "model")
    told["do"] = "В Якутск 99 дней."
    found = memory.desk.keep(Suggestion("Якутск, посылка?", FIVE, "answer", 0.9, "", ((case_of(memory, FIVE), 1.0),)))
    again = memory.review(found.id, "rejected", "В Якутск двенадцать дней.")
    assert again.lesson is not None
    assert "99" not in again.lesson.do


# --- in a conversation --------------------------------------------------------------------------


def test_lessons_and_cases_stand_beside_the_question(opened: Opener) -> None:
    model = ScriptedModel(otherwise="Хорошо.")
    memory = filled(opened(model))
    found = memory.desk.keep(memory.desk.suggest("Сколько дней идёт посылка по России в Якутск?"))
    review(memory.desk, found.id, "rejected", "В Якутск посылка идёт двенадцать дней.")
    memory.turn("k", "Сколько дней идёт посылка в Якутск?")
    asked = str(model.requests[-1].messages[-1]["content"])
    assert "Lesson" in asked
    assert "WRONG: Посылка идёт пять рабочих дней." in asked
    assert "двенадцать" in asked
    memory.turn("k", "Расскажи стихотворение о весне")
    assert "Lesson" not in str(model.requests[-1].messages[-1]["content"])
    memory.turn("group", "Сколько дней идёт посылка в Якутск?", metadata={"shared": True})
    assert "Lesson" not in str(model.requests[-1].messages[-1]["content"])
    assert "Lesson" not in str(memory.history(key="k")[1].messages[0].text)
    assert beside(memory.desk, "Сколько дней идёт посылка в Якутск?", 10) == ""


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("Нет, не так: посылка идёт семь дней", "посылка идёт семь дней"),
        ("Неправильно, доставка стоит 300 рублей", "доставка стоит 300 рублей"),
        ("That's wrong, it is 45 days for jackets", "it is 45 days for jackets"),
        ("Нет, спасибо", ""),
        ("Это не так?", ""),
        ("Не так давно я был в Риме", ""),
        ("That's wrong in so many ways, I mean the war", ""),
        ("That's wrong, it is Canberra", "it is Canberra"),
        ("Вы ошиблись: семь дней", "семь дней"),
        ("Нет, посылка идёт 7 дней", "посылка идёт 7 дней"),
    ],
)
def test_a_correction_in_a_chat_waits_for_confirmation(opened: Opener, said: str, right: str) -> None:
    memory = opened(ScriptedModel("Посылка идёт пять дней.", otherwise="Хорошо."))
    memory.turn("k", "Сколько идёт посылка?")
    memory.turn("k", said)
    with memory.store.experience.reading() as bank:
        waiting = bank.waiting()
        assert [one.proposed for one in waiting] == ([right] if right else [])
    if right:
        assert waiting[0].question == "Сколько идёт посылка?"
        assert waiting[0].draft == "Посылка идёт пять дней."
        made = memory.review(waiting[0].id, "approved", reviewer="Ольга")
        assert made.case is not None
        assert made.case.answer == right
        assert made.lesson is not None


def test_the_tools_find_and_keep(opened: Opener) -> None:
    memory = filled(opened())
    session_id = memory.append("k", user("?")).session_id
    here = ToolContext(memory.store, memory.index, "k", session_id, 1, False)
    tools = available(memory.store)
    found = call(tools, here, "experience_search", {"question": PARCEL})
    assert (found["verdict"], found["draft"]) == ("answer", FIVE)
    kept = call(tools, here, "experience_save", {"question": "Есть ли парковка?", "answer": "Да, бесплатная."})
    assert kept["case"]["author"] == "model"
    assert kept["case"]["source"] == f"{session_id}#1"
    assert (
        call(tools, here, "experience_save", {"question": "Есть ли парковка?", "answer": "Да, бесплатная."})["status"]
        == "known"
    )
    shared = ToolContext(memory.store, memory.index, "k", session_id, 1, True)
    assert call(tools, shared, "experience_search", {"question": PARCEL})["status"] == "error"


# --- files --------------------------------------------------------------------------------------


FILES = {
    "qa.csv": "вопрос;ответ;категория\nСколько ждать?;Пять дней.;Доставка\nпусто;;\n",
    "qa.jsonl": '{"question": "How long?", "answer": "Five days."}\nnonsense\n{"question": "x"}\n',
    "qa.md": "# Доставка\n## Сколько ждать?\nПять дней.\n\n```\n## не вопрос\n```\n## Пусто\n## How long?\nFive.\n",
}


@pytest.mark.parametrize(
    ("name", "count", "bad"), [("qa.csv", 1, 1), ("qa.jsonl", 1, 2), ("qa.md", 2, 1), ("qa.doc", 0, 1)]
)
def test_files_are_read_and_what_is_wrong_is_named(name: str, count: int, bad: int) -> None:
    found, problems = pairs.read(name, FILES.get(name, ""))
    assert (len(found), len(problems)) == (count, bad), (found, problems)


def test_an_import_tells_of_duplicates_and_conflicts_and_comes_back_from_an_export(memory: Memory) -> None:
    text = "# Доставка\n" + "".join(
        f"## {q}\n{a}\n" for q, a in ((PARCEL, FIVE), (PARCEL, "Семь рабочих дней."), (JACKET, LABEL))
    )
    report = bring_in(memory.desk, "qa.md", text)
    assert (report.added, report.known, len(report.conflicts)) == (3, 0, 1)
    again = bring_in(memory.desk, "qa.md", text)
    assert (again.added, again.merged, again.known, again.conflicts) == (0, 0, 3, [])
    with memory.store.experience.reading() as bank:
        line = pairs.exported(bank.standing("2026-03-01"), bank.names)
    back, problems = pairs.read("x.jsonl", line)
    assert not problems
    assert [(p.question, p.answer) for p in back] == [(PARCEL, FIVE), (PARCEL, "Семь рабочих дней."), (JACKET, LABEL)]


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "approved", "edited", "rejected"]), st.integers(0, 5), st.integers(0, 3)),
    max_size=20,
)


@given(OPERATIONS, st.binary(max_size=30))
def test_what_is_replayed_equals_what_was_done(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int, int]], torn: bytes
) -> None:
    folder = tmp_path_factory.mktemp("w")
    init(folder)

    def again() -> Memory:
        return open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")

    memory = again()
    for kind, thing, answer in operations:
        question, right = f"Сколько стоит деталь {chr(1072 + thing) * 4}?", f"Стоит {answer + 1} рублей"
        if kind == "add":
            add(memory.desk, question, right)
            continue
        try:
            memory.review(memory.suggest(question).id, kind, right)
        except InvalidInput:
            pass
    assert state(again()) == state(memory)
    for path in memory.store.workspace.experience.glob("*.jsonl"):
        with path.open("ab") as file:
            file.write(b'{"_type": "case", ' + torn)
    add(memory.desk, "Новый вопрос после обрыва?", "Новый ответ.")
    healed, reopened = state(memory), state(again())
    assert healed == reopened


def test_lines_that_are_no_events_are_counted_and_the_others_read() -> None:
    bank = Bank()
    good = json.dumps({"_type": "case", "id": "c1", "question": "q", "answer": "a", "author": "import", "at": ""})
    for line in (
        "[]",
        "{}",
        '{"_type": 7}',
        '{"_type": "case"}',
        '{"_type": "wording", "case": "none", "question": "q"}',
        good,
    ):
        bank.feed("x", line.encode() + b"\n")
    assert (list(bank.cases), bank.bad) == (["c1"], 5)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_kill_at_any_step_of_a_review_loses_and_doubles_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    init(made)
    memory = filled(_plain(made))
    found = memory.suggest("Сколько дней идёт посылка по России в Якутск?")
    memory.index.close()
    work = tmp_path / "work"

    def scenario(promise: object) -> None:
        own = _plain(work)
        review(own.desk, found.id, "rejected", "В Якутск двенадцать дней.")
        promise("reviewed")  # type: ignore[operator]

    shutil.copytree(made, work)
    for step, how, promises in crash.steps(scenario):
        after = _plain(work)
        with after.store.experience.reading() as bank:
            done = bool(bank.suggested[found.id].outcome)
        assert done or not promises, (step, how)
        if not done:
            review(after.desk, found.id, "rejected", "В Якутск двенадцать дней.")
        with after.store.experience.reading() as bank:
            assert [c.failures for c in bank.cases.values() if c.answer == FIVE] == [1]
            assert len([c for c in bank.cases.values() if "двенадцать" in c.answer]) == 1
            assert len(bank.antipatterns) == 1
        after.index.close()
        shutil.rmtree(work)
        shutil.copytree(made, work)


def _plain(folder: Path) -> Memory:
    return open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")


def _many(folder: str, name: str) -> None:
    memory = _plain(Path(folder))
    for number in range(60):
        add(memory.desk, f"Вопрос {name} номер {number}?", f"Ответ {name} {number}.", ("left", "right")[number % 2])


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_two_processes_lose_no_case(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=_many, args=(str(folder), name)) for name in ("one", "two")]
    for process in running:
        process.start()
    for process in running:
        process.join()
    with _plain(folder).store.experience.reading() as bank:
        assert sorted(c.answer for c in bank.cases.values()) == sorted(
            f"Ответ {name} {n}." for name in ("one", "two") for n in range(60)
        )
        assert bank.bad == 0


def test_a_matcher_that_grew_finds_what_a_new_one_finds() -> None:
    maker = np.random.default_rng(1)
    bank, vectors = Bank(), {}
    grown = Matcher(None)
    for n in range(60):
        record = {
            "_type": "case",
            "id": f"c{n}",
            "question": f"вопрос {n} слово{n % 7}а",
            "answer": "a",
            "author": "import",
        }
        bank.feed("x", json.dumps({**record, "at": ""}).encode() + b"\n")
        vectors[record["question"]] = maker.normal(size=8).astype(np.float32)
        grown.update(bank, lambda texts: {t: vectors[t] for t in texts})
    fresh = Matcher(None)
    fresh.update(bank, lambda texts: {t: vectors[t] for t in texts})
    grown._centre, grown._weighed = None, 0
    for question, vector in list(vectors.items())[:9]:
        left, right = (m.nearest(question, vector, lambda case: True)[:3] for m in (grown, fresh))
        assert [m.case for m in left] == [m.case for m in right]


# --- figures and commands -----------------------------------------------------------------------


def test_the_figures_over_time(memory: Memory) -> None:
    filled(memory)
    for n in range(12):
        found = memory.suggest(PARCEL if n > 5 else f"Неизвестное дело {n}?")
        if n > 5:
            memory.review(found.id, "approved")
    with memory.store.experience.reading() as bank:
        found = desk_figures.periods(bank, 2)
        assert [(p.questions, p.asked, p.wrong) for p in found] == [(6, 1.0, 0.0), (6, 0.0, 0.0)]
        assert desk_figures.bars([p.asked for p in found]) == "█▁"
        assert desk_figures.svg(found).startswith("<svg")
        covered = {c.name: c for c in desk_figures.coverage(bank, "2026-03-01")}
        assert (covered["Доставка"].cases, covered["Доставка"].share) == (2, 1.0)
        assert desk_figures.svg([]).endswith("</svg>")


def test_the_commands(memory: Memory, tmp_path: Path) -> None:
    where = ["--workspace", str(memory.store.workspace.root)]

    def run(*words: str, code: int = 0) -> str:
        made = CliRunner().invoke(cli, ["experience", *words, *where], catch_exceptions=False)
        assert made.exit_code == code, made.output
        return made.output

    assert "begins" in run("list")
    assert "No lessons" in run("lessons")
    assert "Nothing was suggested" in run("stats")
    run("add", PARCEL, FIVE, "--collection", "Доставка")
    file = tmp_path / "qa.csv"
    file.write_text(FILES["qa.csv"], "utf-8")
    assert "not taken" in run("import", str(file), code=1)
    case = json.loads(run("list", "--json"))["cases"][0]["id"]
    assert FIVE in run("show", case)
    made = json.loads(run("suggest", PARCEL, "--json"))
    assert made["draft"] == FIVE
    assert "lesson" in run("review", made["id"], "--reject", "--right", "Семь дней.", "--reviewer", "Ольга")
    assert "failures" in run("lessons")
    run("suggest", "Совсем другое дело?")
    assert "Совсем другое" in run("review")
    assert PARCEL in run("export")
    assert "person" in run("stats")
    assert "<svg" in run("stats", "--svg")
    run("end", case)
    assert case not in run("list")
    assert case in run("list", "--all")


def test_a_turn_is_not_hindered_by_damaged_experience(opened: Opener) -> None:
    memory = filled(opened(ScriptedModel(otherwise="Хорошо.")))
    path = memory.store.workspace.experience / "dostavka.jsonl"
    path.write_bytes(b"\xff\xfe nonsense\n" + path.read_bytes())
    assert isinstance(memory.turn("k", PARCEL), Done)
    memory.append("k", assistant("ещё"))
    with memory.store.experience.reading() as bank:
        assert bank.bad == 1
        assert len(bank.cases) == 3
    assert memory.store.experience.damaged() == [("experience/dostavka.jsonl", [1])]
