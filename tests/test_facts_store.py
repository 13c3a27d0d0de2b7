"""MEMORY.md and its journal on disk, with a person editing meanwhile."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import FactRefused, NoSingleMatch, Unreadable, WriteFailed
from letopis.lifecycle.remember import Kept, Known
from letopis.lifecycle.trace import trace
from letopis.memory import Memory
from letopis.store import files
from tests.conftest import HandClock, Opener


def path(memory: Memory) -> Path:
    return memory.store.workspace.memory_file


def texts(memory: Memory) -> set[str]:
    return {fact.text for fact in memory.facts()}


def test_a_fact_cites_the_message_that_tells_it(memory: Memory) -> None:
    kept = memory.remember("Отчёт нужен к 5 июня")
    assert isinstance(kept, Kept)
    (source,) = kept.fact.sources
    session_id, _, n = source.partition("#")
    message = memory.history(session_id=session_id)[1].messages[int(n) - 1]
    assert message.text == "Отчёт нужен к 5 июня"
    found = trace(memory.store, kept.fact.id)
    assert [s.text for s in found.sources] == ["Отчёт нужен к 5 июня"]
    assert "f:" not in memory.store.facts.view().document.for_prompt()


def test_a_fact_already_there_is_not_added_twice(memory: Memory) -> None:
    memory.remember("Ёлка стоит в углу.")
    assert isinstance(memory.remember("елка стоит в углу"), Known)
    assert len(memory.facts()) == 1


def test_a_contradiction_replaces_and_the_old_one_stays_in_the_journal(memory: Memory) -> None:
    memory.remember("My dog is called Max")
    kept = memory.remember("My dog is called Rex")
    assert isinstance(kept, Kept)
    assert kept.before is not None
    assert texts(memory) == {"My dog is called Rex"}
    events = trace(memory.store, kept.fact.id).events
    assert [(e.op, e.text) for _, e in events] == [
        ("added", "My dog is called Max"),
        ("replaced", "My dog is called Rex"),
    ]


def test_undo_takes_back_any_change_once(memory: Memory) -> None:
    memory.remember("My dog is called Max")
    kept = memory.remember("My dog is called Rex")
    removed = memory.forget("Rex")
    assert texts(memory) == set()
    memory.store.facts.undo(removed.event, "person")
    assert texts(memory) == {"My dog is called Rex"}
    assert isinstance(kept, Kept)
    memory.store.facts.undo(kept.event, "person")
    assert texts(memory) == {"My dog is called Max"}
    with pytest.raises(FactRefused, match="has changed since"):
        memory.store.facts.undo(kept.event, "person")
    with pytest.raises(FactRefused, match="memory log"):
        memory.store.facts.undo("ffffffff", "person")


def test_forgetting_needs_one_match(memory: Memory) -> None:
    memory.remember("Likes green tea")
    memory.remember("Likes black tea")
    with pytest.raises(NoSingleMatch) as error:
        memory.forget("tea")
    assert len(error.value.candidates) == 2
    with pytest.raises(NoSingleMatch):
        memory.forget("coffee")
    assert len(memory.facts()) == 2
    assert memory.forget("green tea").fact.text == "Likes green tea"


def test_secrets_and_emptiness_are_not_kept_and_leave_no_trace(memory: Memory, folder: Path) -> None:
    for text in ("пароль: зелёныйСлон42", "   ", "password = ***", "x" * 501):
        with pytest.raises(FactRefused):
            memory.remember(text)
    assert memory.sessions() == []
    assert not path(memory).exists()


def test_hand_edits_are_kept_and_get_ids(memory: Memory) -> None:
    path(memory).write_bytes("\ufeff# Память\r\n\r\nМоя проза.\r\n\r\n- Написано рукой\r\n".encode())
    memory.remember("Отчёт нужен к 5 июня")
    data = path(memory).read_bytes()
    assert data.startswith("\ufeff# Память\r\n\r\nМоя проза.\r\n\r\n- Написано рукой <!-- f:".encode())
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert texts(memory) == {"Написано рукой", "Отчёт нужен к 5 июня"}


def test_a_stale_buffer_saved_over_newer_facts_loses_nothing(memory: Memory, opened: Opener) -> None:
    memory.remember("Первый факт о чае")
    stale = path(memory).read_text("utf-8")
    memory.remember("Второй факт о кофе")
    path(memory).write_text(stale.replace("Первый факт о чае", "Первый факт о зелёном чае") + "- Рукой\n", "utf-8")
    assert texts(opened()) == {"Первый факт о зелёном чае", "Второй факт о кофе", "Рукой"}
    assert "Второй факт о кофе" in path(memory).read_text("utf-8")


def test_a_fact_deleted_by_hand_is_gone_and_can_be_had_back(memory: Memory, opened: Opener) -> None:
    memory.remember("Первый факт о чае")
    memory.remember("Второй факт о кофе")
    lines = path(memory).read_text("utf-8").split("\n")
    path(memory).write_text("\n".join(line for line in lines if "Второй" not in line), "utf-8")
    again = opened()
    assert texts(again) == {"Первый факт о чае"}
    (event,) = [e for b in again.store.facts.batches() for e in b.events if e.op == "removed"]
    again.store.facts.undo(event.id, "person")
    assert texts(again) == {"Первый факт о чае", "Второй факт о кофе"}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_file_cut_in_mid_save_is_whole_again(memory: Memory, opened: Opener, share: float) -> None:
    path(memory).write_text("# Память\n\nПроза человека.\n", "utf-8")
    for number in range(6):
        memory.remember(f"Факт номер {number} о деле")
    whole = path(memory).read_bytes()
    path(memory).write_bytes(whole[: int(len(whole) * share)])
    again = opened()
    again.remember("Новый факт о доме")
    assert texts(again) == {f"Факт номер {number} о деле" for number in range(6)} | {"Новый факт о доме"}
    assert "Проза человека." in path(again).read_text("utf-8")


def test_a_file_that_is_deleted_returns(memory: Memory, opened: Opener) -> None:
    memory.remember("Likes tea")
    path(memory).unlink()
    assert texts(memory) == {"Likes tea"}
    opened().remember("Likes coffee")
    assert texts(memory) == {"Likes tea", "Likes coffee"}


def test_an_edit_between_reading_and_writing_is_not_overwritten(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("Likes tea")
    real, edits = os.link, []

    def editing(source: object, target: object, **kwargs: object) -> None:
        if str(source).endswith("MEMORY.md") and not edits:
            edits.append(1)
            path(memory).write_text(path(memory).read_text().replace("- Likes tea", "My prose.\n\n- Likes green tea"))
        real(source, target, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", editing)
    memory.remember("Likes coffee")
    assert texts(memory) == {"Likes green tea", "Likes coffee"}
    assert "My prose." in path(memory).read_text()


def test_an_edit_in_place_after_the_backup_was_linked_is_not_overwritten(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("Likes tea")
    real, edits = files.replace, []

    def editing(target: Path, data: bytes) -> None:
        if target.name == "MEMORY.md" and not edits:
            edits.append(1)
            with target.open("r+", encoding="utf-8") as file:
                text = file.read()
                file.seek(0)
                file.write(text.replace("Likes tea", "Likes TEA"))
        real(target, data)

    monkeypatch.setattr(files, "replace", editing)
    memory.remember("Likes coffee")
    assert {t.lower() for t in texts(memory)} == {"likes tea", "likes coffee"}
    assert "Likes TEA" in path(memory).read_text()


def test_unreadable_is_not_empty(memory: Memory, opened: Opener) -> None:
    memory.remember("Likes tea")
    damaged = path(memory).read_bytes() + b"- \xff\xfe\n"
    path(memory).write_bytes(damaged)
    again = opened()
    with pytest.raises(Unreadable, match="not UTF-8 at byte"):
        again.remember("Likes coffee")
    assert path(memory).read_bytes() == damaged
    assert "not UTF-8" in again.store.facts.view().problem
    prompt = again.context("cli:local")
    assert any("not UTF-8" in block.problem for block in prompt.blocks)
    path(memory).write_bytes(damaged[:-5])
    assert "Likes tea" in str(again.context("cli:local").messages)


def test_a_failed_write_leaves_the_old_file_and_is_finished_later(
    memory: Memory, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("Likes tea")
    before = path(memory).read_bytes()

    def broken(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        with pytest.raises(WriteFailed, match="free some space"):
            memory.remember("Likes coffee")
    assert path(memory).read_bytes() == before
    assert texts(opened()) == {"Likes tea", "Likes coffee"}
    assert not list(path(memory).parent.glob("*.tmp"))


def test_the_facts_as_of_a_day(memory: Memory, clock: HandClock) -> None:
    memory.remember("My dog is called Max")
    clock.forward(days=5)
    memory.remember("My dog is called Rex")
    assert [f.text for f in memory.store.facts.as_of("2026-03-02")] == ["My dog is called Max"]
    assert [f.text for f in memory.store.facts.as_of("2026-03-06")] == ["My dog is called Rex"]
    assert memory.store.facts.as_of("2026-02-01") == []


def test_a_range_is_taken_once(memory: Memory) -> None:
    taken = []
    for _ in range(2):
        memory.store.facts.change("model", lambda document: taken.append(1) or [], "a" * 16, (1, 4))
    assert taken == [1]
    assert memory.store.facts.spans("a" * 16) == [(1, 4)]
    assert not path(memory).exists()


edits = st.lists(
    st.tuples(st.sampled_from(["remember", "forget", "edit", "add", "drop", "stale", "reopen"]), st.integers(0, 9)),
    max_size=12,
)


@given(edits)
@pytest.mark.timeout(60)
def test_whatever_people_and_programs_do_the_journal_tells_the_file(
    opened: Opener, folder: Path, steps: list[tuple[str, int]]
) -> None:
    for old in (*folder.glob("memory/*"), *folder.glob(".letopis/*.*")):
        old.unlink()
    memory = opened()
    expected: dict[int, str] = {}
    stale = ""
    for action, number in steps:
        current = path(memory).read_text("utf-8") if path(memory).exists() else ""
        if action == "remember":
            memory.remember(f"Fact number{number} told")
            expected.setdefault(number, f"Fact number{number} told")
            if expected[number] != f"Fact number{number} told":
                expected[number + 100] = f"Fact number{number} told"
        elif action == "forget" and number in expected and number + 100 not in expected:
            memory.forget(f"number{number}")
            del expected[number]
        elif action == "edit" and expected.get(number) == f"Fact number{number} told" and current:
            path(memory).write_text(current.replace(f"number{number} told", f"number{number} edited"), "utf-8")
            expected[number] = f"Fact number{number} edited"
            memory = opened()
        elif action == "reopen":
            memory = opened()
    assert texts(memory) == set(expected.values())
    memory.store.facts.bring_up_to_date()
    replayed = {f.text for f in memory.store.facts.as_of("9999")}
    assert replayed == set(expected.values()) == texts(memory)
    del stale
