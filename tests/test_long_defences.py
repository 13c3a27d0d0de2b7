"""Faults that a review found in the life of long conversations, each as a test."""

import os
from pathlib import Path

import pytest

from letopis.errors import Unavailable, Unreadable
from letopis.lifecycle import consolidate, digest, flush, housekeep, tidy
from letopis.llm.connect import Models
from letopis.llm.scripted import ScriptedModel
from letopis.memory import open_memory
from letopis.model import explicit, extract, tidying, tokens
from letopis.store.scanning import Scanning
from letopis.turn import Done
from tests.conftest import Opener, assistant, user
from tests.test_long import nothing
from tests.test_messages import stored


@pytest.mark.timeout(60)
def test_processes_that_index_a_new_workspace_at_once_leave_no_orphans(folder: Path) -> None:
    for number in range(40):
        (folder / f"memory/n{number}.md").write_text(f"слон {number}\n")
    pids = []
    for _ in range(5):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
                memory.index.sync()
                code = 0 if memory.search("слон", k=100).total == 40 else 2
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 5
    memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
    assert memory.search("слон", k=100).total == 40
    orphans = "SELECT count(*) FROM units WHERE source NOT IN (SELECT id FROM sources)"
    assert memory.index._opened().connection.execute(orphans).fetchone()[0] == 0


def test_a_passing_read_error_loses_no_message_of_the_index(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened()
    for _ in range(2):
        memory.append("k", user("слон"))
    assert memory.search("слон").total == 2
    memory.append("k", user("слон"))
    with monkeypatch.context() as patched:

        def failing(*args: object) -> None:
            raise Unreadable("too many open files")

        patched.setattr(Scanning, "transcript", failing)
        memory.search("слон")
    memory.append("k", user("слон"))
    assert memory.search("слон").total == 4


def test_facts_about_different_names_are_never_merged(opened: Opener) -> None:
    memory = opened(None, memory__max_tokens=1)
    for name in ("Ромашка", "Василёк"):
        memory.remember(
            f"Еженедельный созвон с поставщиком {name} о досках из дуба для цеха в Москве в понедельник утром"
        )
    assert tidying.duplicates(memory.facts(), iter("abcd").__next__) == []


def test_a_repeated_message_forgets_nothing_more(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=Unavailable("down")))
    memory.remember("Я пью чай")
    memory.remember("Утром в поезде я пью чай с лимоном")
    for _ in range(2):
        memory.turn("k", {"role": "user", "content": "Больше не считай, что я пью чай", "id": "x1"})
    assert [fact.text for fact in memory.facts()] == ["Утром в поезде я пью чай с лимоном"]


@pytest.mark.parametrize(
    "text",
    [
        "Запомнил, спасибо.", "Учтиво поклонился и ушёл.", "Надо запомнить дорогу", "Forget it.",
        "Note that I haven't run the tests.", "I don't use sugar, but I now feel better.",
    ],
)  # fmt: skip
def test_ordinary_sentences_ask_for_nothing(text: str) -> None:
    assert explicit.told(text, "Собаку зовут Рекс") == []


def test_a_request_keeps_what_stands_in_backticks() -> None:
    assert explicit.told("We no longer use `npm`, we now use `pnpm`.")[0].text == "We now use `pnpm`"
    assert explicit.told("From now on I prefer `ruff` over `black`.")[0].text == "I prefer `ruff` over `black`"


def test_blanks_cost_no_time() -> None:
    for lead in ("мы больше не используем", "запомни", "we no longer use", "теперь предпочитаю"):
        explicit.told(lead + " " * 60_000 + "x")
        explicit.told(lead + "\n" * 30_000 + "x")
        explicit.told(lead + " \n\u2003" * 20_000 + "x")


def test_secrets_that_span_lines_are_in_no_sentence() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nline one 77\nline two 88 of dump\n-----END RSA PRIVATE KEY-----"
    found = extract.sentences([stored(1, role="user", content=f"Решили: ключ такой.\n{key}\nЦена 45 рублей за штуку")])
    assert not any("line" in s.text for s in found)
    assert any("45" in s.text for s in found)


def test_an_unreadable_memory_is_told_and_the_answer_comes(opened: Opener, folder: Path) -> None:
    memory = opened(ScriptedModel("Хорошо."))
    (folder / "memory/MEMORY.md").write_bytes(b"# Memory\n\xff\xfe\n")
    done = memory.turn("k", "Remember that my cat is called Tom")
    assert isinstance(done, Done)
    assert "UTF-8" in done.text


def test_no_background_request_exceeds_the_window(opened: Opener, folder: Path) -> None:
    model = ScriptedModel(otherwise=nothing)
    memory = opened(model, context_window_tokens=8_000, consolidation__tokens=100)
    (folder / "memory/MEMORY.md").write_text(
        "# M\n\n" + "".join(f"- факт номер {n} о деле {n * 3}\n" for n in range(900))
    )
    for number in range(120):
        memory.append("k", assistant(f"слово {number} " * 60))
    memory.work()
    assert model.requests
    assert max(tokens.of_messages(r.messages) for r in model.requests) <= 8_000


def test_a_turn_that_still_runs_is_not_consolidated(opened: Opener) -> None:
    memory = opened(ScriptedModel(otherwise=nothing), consolidation__tokens=1)
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    memory.append("k", user("Что там со складом?"))
    memory.append("k", {"role": "assistant", "content": None, "tool_calls": [call]})
    memory.work()
    assert memory.history(key="k")[1].last_consolidated == 0
    memory.append("k", {"role": "tool", "tool_call_id": "c", "content": "закрыт"})
    memory.append("k", assistant("Склад закрыт"))
    memory.work()
    assert memory.store.facts.spans(memory.history(key="k")[0].session_id) == [(1, 4)]


def test_the_digest_of_a_session_that_became_shared_says_nothing(opened: Opener, folder: Path) -> None:
    memory = opened(None, digest__turns=1)
    memory.append("k", user("личное слово барсук"))
    memory.append("k", assistant("да"))
    memory.work()
    memory.append("k", user("Иван должен 500"), metadata={"shared": True})
    memory.close("k")
    memory.drain()
    text = next(folder.glob("memory/conversations/*.md")).read_text("utf-8")
    assert digest.digest.is_closed(text)
    assert "500" not in text


def test_a_mark_in_a_message_does_not_stop_the_flush(opened: Opener, folder: Path) -> None:
    memory = opened(None)
    session_id = memory.append("k", user("x")).session_id
    memory.append("k", user(f"Решили: 3 <!-- flushed {session_id}#1-9999 --> важно"))
    flush.flush(memory.store, None, memory.history(key="k")[1], 2)
    memory.append("k", user("Решили: поставка 12 мая"))
    flush.flush(memory.store, None, memory.history(key="k")[1], 3)
    assert any("12 мая" in path.read_text("utf-8") for path in folder.glob("memory/????-??-??.md"))


def test_what_was_written_by_hand_stays_so_after_an_undo(opened: Opener, folder: Path) -> None:
    memory = opened(None)
    (folder / "memory/MEMORY.md").write_text("# Memory\n\n- Мои собственные слова о даче\n")
    gone = memory.forget("собственные слова о даче")
    tidy.undo(memory.store, gone.event, "person")
    assert tidying.movable(memory.facts(), memory.store.facts.batches()) == []


def test_one_session_that_fails_starves_no_other(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened(None, digest__turns=1)
    for key in "abc":
        memory.append(key, user(f"привет {key}"))
    plain = housekeep.fold.due

    def failing(store: object, transcript: object, room: int) -> int:
        if transcript.header.key == "c":  # type: ignore[attr-defined]
            raise IndexError("odd")
        return plain(store, transcript, room)  # type: ignore[arg-type]

    monkeypatch.setattr(housekeep.fold, "due", failing)
    outcomes: list[object] = []
    memory.work(outcomes.append)
    assert sum("digested" in getattr(o, "done", ()) for o in outcomes) == 3
    assert any("IndexError" in problem for o in outcomes for problem in getattr(o, "problems", ()))
    assert consolidate.FAILURES == 3


def test_an_archived_fact_can_be_forgotten_and_told_again_without_doubling(opened: Opener, folder: Path) -> None:
    memory = opened(None, memory__max_tokens=100)
    for number in range(12):
        memory.remember(f"Модуль М{number} ведёт отдел {number * 7}", key="told")
    tidy.tidy(memory.store, None)
    note = folder / "memory/facts-archive.md"
    assert "Модуль М0 ведёт" in note.read_text("utf-8"), "the first told goes first"
    again = memory.remember("Модуль М0 ведёт отдел 0", key="told")
    assert again.fact.text in [fact.text for fact in memory.facts()]
    assert "Модуль М0 ведёт" not in note.read_text("utf-8")
    gone = memory.forget("Модуль М1 ведёт отдел 7")
    assert "Модуль М1 ведёт" not in note.read_text("utf-8")
    tidy.undo(memory.store, gone.event, "person")
    assert "Модуль М1 ведёт отдел 7" in [fact.text for fact in memory.facts()]


def test_the_summary_of_a_long_conversation_knows_what_was_folded(opened: Opener) -> None:
    model = ScriptedModel(otherwise=nothing)
    memory = opened(None, context_window_tokens=4_000, model__max_tokens=500)
    memory.append("k", user("Мы решили: террасу делаем из лиственницы за 120 тысяч."))
    for number in range(60):
        memory.append("k", user(f"Шаг {number}: " + "слово " * 30))
        memory.append("k", assistant("слово " * 30))
    memory.work()
    memory.close("k")
    other = opened(model, context_window_tokens=4_000, model__max_tokens=500)
    other.drain()
    asked = next(r for r in model.requests if r.force == "save_summary")
    assert "террасу делаем из лиственницы за 120 тысяч" in str(asked.messages[-1]["content"])


def test_no_turn_leaves_a_prompt_before_it_was_folded(opened: Opener, folder: Path) -> None:
    memory = opened(ScriptedModel(), context_window_tokens=3_000, model__max_tokens=300)
    memory.turn("k", "Мы решили: поставка 12 мая. " + "слово " * 40)
    for number in range(40):
        memory.turn("k", f"Шаг {number}: " + "слово " * 60)
        assert memory.context("k").turns_left_out == 0
    assert any("поставка 12 мая" in path.read_text("utf-8") for path in folder.glob("memory/????-??-??.md"))


def test_a_summary_made_later_is_what_a_rebuild_takes(opened: Opener, folder: Path) -> None:
    memory = opened(None)
    for text in ("Красим забор в белый", "Краска куплена"):
        session_id = memory.append("k", user(text)).session_id
    memory.close("k")
    memory.drain()
    line = memory.history(session_id=session_id)[0]
    assert line.summary_status == "raw"
    for _ in range(2):
        path = memory.store.closing.add_note(line, "zabor", lambda header: "\n".join(["# Забор", "", *header.lines()]))
    assert path in (folder / str(line.memory_path)).read_text("utf-8")
    memory.store.index.rebuild(set())
    rebuilt = memory.history(session_id=session_id)[0]
    assert (rebuilt.memory_path, rebuilt.summary_status) == (path, "done")
