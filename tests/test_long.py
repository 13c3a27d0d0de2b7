"""The life of a long conversation: flush, fold, consolidation, digest, tidying."""

from datetime import timedelta
from pathlib import Path

import pytest

from letopis.errors import Busy, Unavailable
from letopis.lifecycle import consolidate, digest, fold, housekeep, tidy
from letopis.lifecycle.worker import Worked
from letopis.llm.port import Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory
from letopis.model import anchoring, extract, folding, turns
from letopis.model.facts import Fact
from letopis.model.folding import Folded
from tests.conftest import HandClock, Opener, assistant, user
from tests.test_messages import stored

WINDOW = {"context_window_tokens": 4_000, "model__max_tokens": 500}


def talk(memory: Memory, count: int, words: int = 30) -> str:
    session_id = ""
    for number in range(count):
        session_id = memory.append("k", user(f"Вопрос {number}: " + "слово " * words)).session_id
        memory.append("k", assistant(f"Ответ {number}. " + "слово " * words))
    return session_id


def nothing(request: Request) -> object:
    """A model that finds nothing worth keeping."""
    name = request.tools[0].name if request.tools else ""
    payload = {"save_memory": {"operations": []}, "save_notes": {"items": []}, "fold": {}, "tidy_memory": {}}
    return calling(name, payload[name]) if name in payload else "Хорошо."


def worked(memory: Memory, session_id: str) -> Worked:
    return housekeep.housekeep(memory.store, memory.index, memory.models, session_id, memory.room)


# --- folding ------------------------------------------------------------------------------------


def test_only_the_oldest_turns_leave_and_never_the_newest() -> None:
    assert turns.leaving([10, 10, 10], 100, 50) == 0
    assert turns.leaving([10, 10, 10], 20, 10) == 2
    assert turns.leaving([5, 1000], 20, 10) == 1
    assert turns.leaving([1000], 20, 10) == 0
    assert turns.leaving([], 20, 10) == 0


def test_a_fold_extends_what_was_folded_and_the_newest_value_counts() -> None:
    before = Folded(goal="шкаф", facts=("Бюджет: 100 тысяч", "Ширина — 60 см"), decided=("Берём дуб",))
    part = Folded(facts=("Бюджет: 120 тысяч",), decided=("Берём дуб",), outdated=("Ширина — 60 см",))
    after = folding.extended(before, part, 1_000)
    assert after.facts == ("Бюджет: 120 тысяч",)
    assert after.decided == ("Берём дуб",)
    assert after.goal == "шкаф"
    assert folding.parse(after.record()) == after
    small = folding.extended(Folded(), Folded(done=tuple(f"сделано дело номер {n}" for n in range(99))), 60)
    assert small.dropped > 80
    assert "сделано дело номер 98" in small.text()
    assert str(small.dropped) in small.text()


@pytest.mark.parametrize("value", [None, 3, [], {"goal": 3, "facts": "x", "done": [1, "a"], "dropped": True}])
def test_a_summary_that_is_none_is_empty_or_what_is_left_of_it(value: object) -> None:
    assert folding.parse(value).facts == ()


def test_a_long_conversation_is_folded_flushed_and_stays_within_its_room(opened: Opener, folder: Path) -> None:
    memory = opened(ScriptedModel(otherwise=nothing), **WINDOW)
    memory.append("k", user("Мы решили, что шкаф будет из дуба за 45000 рублей."))
    session_id = talk(memory, 40)
    outcome = worked(memory, session_id)
    assert "folded" in outcome.done
    transcript = memory.history(key="k")[1]
    assert 0 < transcript.folded_through < transcript.last_n
    assert transcript.last_flushed >= transcript.folded_through
    assert transcript.messages[transcript.folded_through].role == "user"
    prompt = memory.context("k")
    assert prompt.tokens <= prompt.budget
    assert prompt.turns_left_out == 0
    assert worked(memory, session_id).done == ()


def test_without_a_model_what_matters_is_extracted(opened: Opener, folder: Path, clock: HandClock) -> None:
    memory = opened(None, **WINDOW)
    memory.append("k", user("Мы решили, что шкаф будет из дуба за 45000 рублей. Пароль: qwerty12345"))
    session_id = talk(memory, 40)
    worked(memory, session_id)
    text = memory.context("k").messages[0]["content"]
    assert "45000" in text
    note = (folder / f"memory/{clock.now():%Y-%m-%d}.md").read_text("utf-8")
    assert "шкаф будет из дуба за 45000 рублей" in note
    assert "qwerty12345" not in note
    assert "qwerty12345" not in text
    assert f"<!-- flushed {session_id}#1-" in note
    assert memory.history(key="k")[1].last_consolidated == 0


def test_what_a_model_invents_is_not_folded_or_flushed(opened: Opener, folder: Path) -> None:
    def inventing(request: Request) -> object:
        items = ["Бюджет 999000 рублей", "Зовут Зигмунд", "Речь о вопросах и ответах"]
        payload = {"fold": {"facts": items}, "save_notes": {"items": items}, "save_memory": {"operations": []}}
        return calling(request.tools[0].name, payload[request.tools[0].name])

    memory = opened(ScriptedModel(otherwise=inventing), **WINDOW)
    worked(memory, talk(memory, 40))
    text = memory.context("k").messages[0]["content"]
    notes = "".join(path.read_text("utf-8") for path in folder.glob("memory/????-??-??.md"))
    assert "Речь о вопросах" in text
    assert "Речь о вопросах" in notes
    for made_up in ("999000", "Зигмунд"):
        assert made_up not in text + notes


def test_one_giant_message_is_cut_and_never_looped_on(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=nothing), **WINDOW)
    session_id = memory.append("k", user("слово " * 20_000)).session_id
    assert fold.due(memory.store, memory.history(key="k")[1], 1_000) == 0
    worked(memory, session_id)
    prompt = memory.context("k")
    assert prompt.tokens <= prompt.budget
    assert "not shown" in prompt.blocks[-1].cut


def test_with_compression_off_turns_are_flushed_before_they_leave(opened: Opener, folder: Path) -> None:
    memory = opened(None, compression__enabled=False, **WINDOW)
    memory.append("k", user("Решили: поставка 12 мая."))
    session_id = talk(memory, 40)
    assert "flushed" in worked(memory, session_id).done
    transcript = memory.history(key="k")[1]
    assert transcript.folded_through == 0
    assert transcript.last_flushed > 0
    assert any("поставка 12 мая" in path.read_text("utf-8") for path in folder.glob("memory/????-??-??.md"))
    prompt = memory.context("k")
    first = prompt.messages[1]["content"]
    left_out = next(m.n for m in transcript.messages if m.text == first) - 1
    assert left_out <= transcript.last_flushed


def test_a_shared_conversation_leaves_no_note_and_no_fact(opened: Opener, folder: Path) -> None:
    memory = opened(ScriptedModel(otherwise=nothing), session__shared_keys=("k",), **WINDOW)
    memory.append("k", user("Решили: поставка 12 мая."))
    worked(memory, talk(memory, 40))
    assert memory.history(key="k")[1].folded_through > 0
    assert not list(folder.glob("memory/????-??-??.md"))
    assert not list(folder.glob("memory/conversations/*"))


def test_the_head_of_the_prompt_stays_while_the_conversation_goes_on(opened: Opener) -> None:
    memory = opened(None, compression__enabled=False, **WINDOW)
    talk(memory, 30)
    heads = []
    for number in range(30):
        memory.append("k", user(f"ещё {number} " + "слово " * 30))
        memory.append("k", assistant("слово " * 30))
        heads.append(memory.context("k").messages[1]["content"])
    assert len(set(heads)) <= 8


# --- consolidation ------------------------------------------------------------------------------


def remembering(request: Request) -> object:
    if request.tools and request.tools[0].name == "save_memory":
        text = request.messages[-1]["content"]
        number = text.partition("<<<conversation")[2].split("#")[1].split(" ")[0]
        fact = {"op": "add", "text": "Любит чёрный чай", "source": [int(number)]}
        return calling("save_memory", {"operations": [fact]})
    return nothing(request)


def test_facts_are_taken_when_enough_was_said_and_not_before(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=remembering), consolidation__tokens=200)
    session_id = memory.append("k", user("Я люблю чёрный чай")).session_id
    assert worked(memory, session_id).done == ()
    memory.append("k", assistant("слово " * 200))
    assert "consolidated" in worked(memory, session_id).done
    assert [fact.text for fact in memory.facts()] == ["Любит чёрный чай"]
    assert memory.history(key="k")[1].last_consolidated == 2


def test_three_failures_in_a_row_keep_the_turns_raw_and_go_on(opened: Opener, folder: Path, clock: HandClock) -> None:
    model = ScriptedModel(otherwise=Unavailable("down"))
    memory = opened(model, consolidation__tokens=50)
    session_id = memory.append("k", user("Я люблю чёрный чай " * 30)).session_id
    for count in (1, 2):
        assert worked(memory, session_id).problems
        transcript = memory.history(key="k")[1]
        assert transcript.state["consolidation_failures"]["count"] == count
        assert transcript.last_consolidated == 0
    clock.forward(days=2)
    worked(memory, session_id)
    assert memory.history(key="k")[1].state["consolidation_failures"]["count"] == 1
    worked(memory, session_id)
    worked(memory, session_id)
    transcript = memory.history(key="k")[1]
    assert transcript.last_consolidated == 1
    assert transcript.state["consolidation_failures"] is None
    raw = next(folder.glob("memory/*-raw-archive.md")).read_text("utf-8")
    assert f"<!-- raw {session_id}#1-1 -->" in raw
    assert "чёрный чай" in raw
    assert memory.search("чёрный чай", scope="notes").status == "empty"
    assert memory.store.facts.raw_spans(session_id) == [(1, 1)]


def test_without_a_model_the_pointer_stays(opened: Opener) -> None:
    memory = opened(None, consolidation__tokens=10)
    session_id = memory.append("k", user("Я люблю чёрный чай " * 30)).session_id
    assert worked(memory, session_id).done == ()
    assert memory.history(key="k")[1].last_consolidated == 0


def test_nobody_works_on_a_session_twice_at_once(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=remembering), consolidation__tokens=10)
    session_id = memory.append("k", user("Я люблю чёрный чай " * 30)).session_id
    with memory.store.work_lock(session_id):
        assert worked(memory, session_id) == Worked(session_id, (), ())
    assert "consolidated" in worked(memory, session_id).done


def test_a_range_that_overlaps_a_taken_one_changes_nothing(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=remembering))
    memory.append("k", user("Я люблю чёрный чай"))
    memory.append("k", assistant("Хорошо"))
    transcript = memory.history(key="k")[1]
    taken = memory.store.facts.change("model", lambda document: [], transcript.session_id, (1, 2))
    again = consolidate.take(memory.store, memory.models.background, transcript, transcript.messages, (2, 2))
    assert again.id == taken.id
    assert memory.facts() == ()


def test_known_facts_say_that_they_come_from_this_very_part(opened: Opener) -> None:
    model = ScriptedModel(otherwise=nothing)
    memory = opened(model, consolidation__tokens=10)
    kept = memory.remember("Пароля от сейфа нет, код знает Анна", key="k")
    memory.append("k", assistant("слово " * 100))
    worked(memory, kept.fact.sources[0].partition("#")[0])
    assert "(taken from #1 already)" in str(model.requests[0].messages)


# --- digest -------------------------------------------------------------------------------------


def test_a_digest_rolls_on_and_leaves_the_search_at_the_close(opened: Opener, folder: Path) -> None:
    memory = opened(None)
    session_id = memory.append("k", user("Обсуждаем кедровый забор за 30000")).session_id
    talk(memory, 5)
    assert "digested" in worked(memory, session_id).done
    path = folder / str(memory.history(key="k")[1].state["digest_path"])
    assert "кедровый забор" in path.read_text("utf-8")
    assert memory.search("кедровый забор", kind="digest").status == "ok"
    assert worked(memory, session_id).done == ()
    memory.close("k")
    memory.drain()
    text = path.read_text("utf-8")
    archived = memory.history(session_id=session_id)[0]
    assert f"../../{archived.transcript_path}" in text
    assert f"../../{archived.memory_path}" in text
    assert memory.search("кедровый забор", kind="digest").status == "empty"
    memory.store.delete_session(session_id)
    assert not path.exists()


def test_the_digest_of_two_keys_never_share_a_file(opened: Opener) -> None:
    memory = opened(None, digest__turns=1)
    paths = set()
    for key in ("telegram:a_b", "telegram:a:b", "TELEGRAM:a_b"):
        memory.append(key, user("привет"))
        paths.add(digest.path_of(memory.history(key=key)[1]))
    assert len(paths) == 3


# --- tidying ------------------------------------------------------------------------------------


def fill(memory: Memory, count: int) -> None:
    for number in range(count):
        memory.remember(f"Проект номер {number} ведёт сотрудник отдела {number * 7}", key=f"told:{number % 5}")


def test_a_large_memory_is_tidied_by_age_and_can_be_taken_back(opened: Opener, folder: Path) -> None:
    memory = opened(None, memory__max_tokens=400)
    (folder / "memory/MEMORY.md").write_text("# Memory\n\n- Это я написал своей рукой и это не трогать 77\n")
    fill(memory, 40)
    assert tidy.is_due(memory.store)
    events = tidy.tidy(memory.store, None)
    assert not tidy.is_due(memory.store)
    assert events
    texts = [fact.text for fact in memory.facts()]
    assert "Это я написал своей рукой и это не трогать 77" in texts
    archive = (folder / "memory/facts-archive.md").read_text("utf-8")
    gone = events[0].before
    assert gone is not None
    assert gone.text in archive
    assert gone.text not in texts
    assert memory.search(f'"{gone.text}"', scope="notes").hits[0].kind == "archived"
    tidy.undo(memory.store, events[0].id, "person")
    assert gone.text in [fact.text for fact in memory.facts()]
    assert gone.text not in (folder / "memory/facts-archive.md").read_text("utf-8")
    assert len(texts) + len(events) == 41


def test_near_duplicates_become_one_with_all_sources(opened: Opener) -> None:
    memory = opened(None, memory__max_tokens=1)
    memory.remember("Поставщик фанеры для кухни — фирма Берёза", key="a")
    memory.remember("Для кухни поставщик фанеры фирма Берёза", key="b")
    memory.remember("Поставщик фанеры для кухни — не фирма Берёза", key="c")
    found = tidy.tidying.duplicates(list(memory.facts()), iter("abcdefgh").__next__)
    assert [event.op for event in found] == ["removed", "replaced"]
    after = found[1].after
    assert after is not None
    assert len(after.sources) == 2


def test_a_merge_by_a_model_must_keep_every_name_and_figure() -> None:
    facts = {id_: Fact(id_, text, "", "2026-01-01", ("s#1",)) for id_, text in (
        ("a", "Встреча с Анной 12 мая"), ("b", "На встречу нужен договор 45"))}  # fmt: skip
    make = iter("123456789").__next__
    good = tidy.Proposal(merge=((("a", "b"), "Встреча с Анной 12 мая, нужен договор 45"),))
    assert [e.op for e in tidy.tidying.merges(good, facts, make)[0]] == ["removed", "replaced"]
    for text in ("Встреча с Анной 12 мая", "Встреча с Борисом 12 мая, договор 45, Анной", ""):
        events, refused = tidy.tidying.merges(tidy.Proposal(merge=((("a", "b"), text),)), facts, make)
        assert events == []
        assert refused


# --- the worker ---------------------------------------------------------------------------------


def test_the_worker_does_all_that_is_due_in_one_round(opened: Opener, folder: Path) -> None:
    memory = opened(ScriptedModel(otherwise=remembering), **WINDOW, memory__max_tokens=200)
    memory.append("k", user("Я люблю чёрный чай"))
    talk(memory, 40)
    fill(memory, 20)
    outcomes: list[object] = []
    worker = memory.worker(outcomes.append)
    worker.once()
    done = next(o.done for o in outcomes if isinstance(o, Worked))
    assert {"consolidated", "folded", "digested"} <= set(done)
    assert not tidy.is_due(memory.store)
    assert worker.step == "waiting"
    before = len(outcomes)
    worker.once()
    assert len(outcomes) == before


def test_a_close_waits_for_work_that_is_going_on(opened: Opener) -> None:
    memory = opened(None)
    session_id = memory.append("k", user("привет")).session_id
    memory.close("k")
    with memory.store.work_lock(session_id):
        assert "stays" not in str(memory.drain()[0])
        with pytest.raises(Busy):
            memory.store.work_lock(session_id).__enter__()
    memory.drain()
    assert memory.history(session_id=session_id)[0].state == "archived"


def test_a_failure_is_tried_again_only_after_a_rest(opened: Opener, clock: HandClock) -> None:
    model = ScriptedModel(otherwise=Unavailable("down"))
    memory = opened(model, consolidation__tokens=10)
    memory.append("k", user("Я люблю чёрный чай " * 30))
    worker = memory.worker(lambda outcome: None)
    worker.once()
    asked = len(model.requests)
    worker.once()
    assert len(model.requests) == asked
    assert clock.now() - clock.now() < timedelta(1)


def test_texts_without_sentences_take_no_time() -> None:
    for text in ("x" * 300_000, "a." * 150_000, "1,2 " * 80_000, "a/b-" * 80_000):
        extract.sentences([stored(1, role="user", content=text)])
        anchoring.items([stored(1, role="user", content=f"- {text}")])
