"""Kill tests: at every write, fsync and rename of append, close and remember, and afterwards all is there."""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from letopis.llm.connect import Models
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory, open_memory
from letopis.store.init import init
from tests import crash, invariants
from tests.conftest import MOSCOW, HandClock, user

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SUMMARY = {"title": "Кухня", "slug": "kuhnya", "summary": "Обсудили кухню.", "key_messages": [1]}
FACTS = {"operations": [{"op": "add", "text": "Кухня нужна белая", "source": [1]}]}


def _model() -> ScriptedModel:
    return ScriptedModel(calling("save_summary", SUMMARY), calling("save_memory", FACTS))


def _open(folder: Path, model: ScriptedModel | None) -> Memory:
    clock = HandClock(datetime(2026, 3, 1, 10, 15, tzinfo=MOSCOW))
    return open_memory(folder, models=Models(model, model), clock=clock, environ={}, embedding__kind="none")


def _life(folder: Path) -> Callable[[Callable[[str], None]], None]:
    def scenario(promise: Callable[[str], None]) -> None:
        memory = _open(folder, _model())
        for text in ("Кухня нужна белая", "И остров"):
            stored = memory.append("cli:local", user(text))
            promise(f"message {stored.session_id} {stored.n} {text}")
        memory.remember("Дедлайн кухни — 12 мая")
        promise("fact Дедлайн кухни — 12 мая")
        memory.close("cli:local")
        stored = memory.append("cli:local", user("Новый разговор"))
        promise(f"message {stored.session_id} {stored.n} Новый разговор")
        memory.drain()
        promise("archived")

    return scenario


def test_a_kill_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    pristine = tmp_path / "pristine"
    init(pristine)
    folder = tmp_path / "workspace"

    def fresh(promise: Callable[[str], None]) -> None:
        _life(folder)(promise)

    shutil.copytree(pristine, folder)
    count = 0
    for step, how, promises in crash.steps(fresh):
        memory = _open(folder, _model())
        assert all(hasattr(outcome, "line") for outcome in memory.drain()), (step, how)
        invariants.check(memory)
        there = {f"message {s} {n} {text}" for s, n, text in invariants.said(folder)}
        facts = {f"fact {fact.text}" for fact in memory.facts()}
        assert {p for p in promises if p.startswith("message")} <= there, (step, how)
        assert {p for p in promises if p.startswith("fact")} <= facts, (step, how)
        closed = [line for line in memory.sessions(key="cli:local") if line.state == "archived"]
        for line in closed:
            assert len(list((folder / "memory").glob("2026*.md"))) == 1, (step, how)
            assert line.summary_status == "done"
            assert "Кухня нужна белая" in {fact.text for fact in memory.facts()}, (step, how)
        if "archived" in promises:
            assert closed
        shutil.rmtree(folder)
        shutil.copytree(pristine, folder)
        count += 1
    assert count > 60


def test_a_kill_at_any_step_of_a_deletion_leaves_it_whole_or_gone(tmp_path: Path) -> None:
    pristine = tmp_path / "pristine"
    init(pristine)
    memory = _open(pristine, None)
    memory.append("cli:local", user("раз"))
    memory.append("cli:local", user("два"))
    session_id = memory.close("cli:local")
    memory.drain()
    assert session_id is not None
    folder = tmp_path / "workspace"
    shutil.copytree(pristine, folder)

    def scenario(promise: Callable[[str], None]) -> None:
        _open(folder, None).store.delete_session(session_id)
        promise("deleted")

    for step, how, promises in crash.steps(scenario):
        memory = _open(folder, None)
        left = [p for p in folder.rglob("*") if p.is_file() and session_id in p.read_text("utf-8", "replace")]
        names = {p.relative_to(folder).as_posix() for p in left} - {".letopis/deleted.jsonl"}
        if memory.sessions():
            assert "deleted" not in promises
            invariants.check(memory)
        else:
            assert names == set(), (step, how)
            memory.store.index.rebuild(memory.store.deletions.ids())
            assert memory.sessions() == []
        shutil.rmtree(folder)
        shutil.copytree(pristine, folder)
