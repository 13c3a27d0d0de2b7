"""Several processes on one workspace: nothing lost, nothing doubled."""

import multiprocessing
import os
from collections import Counter
from pathlib import Path

import pytest

from letopis.llm.connect import Models
from letopis.memory import open_memory
from tests import invariants
from tests.conftest import user

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def _run(target: object, *tasks: tuple[object, ...]) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=target, args=task) for task in tasks]  # type: ignore[arg-type]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def _memory(folder: str):  # type: ignore[no-untyped-def]
    os.environ["LETOPIS_CONFIG"] = str(Path(folder) / "none.toml")
    return open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")


def _append_and_close(folder: str, name: str, keys: tuple[str, ...], count: int) -> None:
    memory = _memory(folder)
    for number in range(count):
        key = keys[number % len(keys)]
        memory.append(key, {**user(f"{name} {number}"), "id": f"{name}-{number}"})
        if number % 10 == 9:
            memory.close(key)
        if number % 40 == 39:
            memory.drain()
    memory.drain()


@pytest.mark.parametrize("keys", [("same",), ("left", "right")])
def test_two_processes_of_200_appends_and_closes(folder: Path, keys: tuple[str, ...]) -> None:
    _run(_append_and_close, (str(folder), "one", keys, 200), (str(folder), "two", keys, 200))
    memory = _memory(str(folder))
    memory.drain()
    invariants.check(memory)
    counts = Counter(text for _, _, text in invariants.said(folder))
    assert counts == Counter(f"{name} {number}" for name in ("one", "two") for number in range(200))
    for name in ("one", "two"):
        for key in keys:
            sessions = sorted(memory.sessions(key=key), key=lambda s: (s.created_at, s.session_id))
            told = [m.text for s in sessions for m in memory.history(session_id=s.session_id)[1].messages]
            own = [int(t.split()[1]) for t in told if t.startswith(name)]
            assert sorted(own) == [n for n in range(200) if keys[n % len(keys)] == key]


def _remember(folder: str, name: str, count: int) -> None:
    memory = _memory(folder)
    for number in range(count):
        memory.remember(f"Fact {number} of {name}")
        memory.remember(f"A fact {number} of both")


def test_two_processes_remember_each_fact_once(folder: Path) -> None:
    _run(_remember, (str(folder), "left", 20), (str(folder), "right", 20))
    texts = Counter(fact.text for fact in _memory(str(folder)).facts())
    expected = {f"Fact {n} of {name}" for n in range(20) for name in ("left", "right")}
    assert texts == Counter(expected | {f"A fact {n} of both" for n in range(20)})


def _drain(folder: str) -> None:
    _memory(folder).drain()


def test_several_archivers_of_one_queue_write_everything_once(folder: Path) -> None:
    memory = _memory(str(folder))
    for number in range(12):
        memory.append(f"k{number}", user("one"))
        memory.append(f"k{number}", user("two"))
        memory.close(f"k{number}")
    _run(_drain, *[(str(folder),)] * 4)
    memory.drain()
    invariants.check(memory)
    assert len(list((folder / "memory").glob("*-session-raw.md"))) == 12
    assert len(memory.sessions()) == 12
