"""Kills at every step of flush, fold, consolidation, digest and tidying: nothing is lost, nothing is done twice."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from letopis.errors import Unavailable
from letopis.lifecycle import archived, tidy
from letopis.llm.connect import Models
from letopis.llm.port import Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.memory import Memory, open_memory
from letopis.store.init import init
from tests import crash, invariants
from tests.conftest import MOSCOW, HandClock, assistant, user

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SETTINGS = {
    "context_window_tokens": 2_000,
    "model__max_tokens": 200,
    "consolidation__tokens": 150,
    "memory__max_tokens": 120,
    "embedding__kind": "none",
}


def _answer(request: Request) -> object:
    name = request.tools[0].name if request.tools else ""
    text = str(request.messages[-1]["content"]).partition("<<<conversation")[2]
    said = re.findall(r"#(\d+) user [^:]+:\d\d: Деталь (\w+) весит (\d+) кг", text)
    if name == "save_memory":
        facts = [{"op": "add", "text": f"Деталь {d} весит {k} кг", "source": [int(n)]} for n, d, k in said]
        return calling(name, {"operations": facts})
    items = [f"Деталь {detail} весит {kilos} кг" for _, detail, kilos in said]
    payload = {"save_notes": {"items": items}, "fold": {"facts": items}, "tidy_memory": {}}
    return calling(name, payload[name])


def _open(folder: Path, model: ScriptedModel) -> Memory:
    clock = HandClock(datetime(2026, 3, 1, 10, 15, tzinfo=MOSCOW))
    return open_memory(folder, models=Models(model, model), clock=clock, environ={}, **SETTINGS)


def _filled(folder: Path) -> None:
    init(folder)
    memory = _open(folder, ScriptedModel())
    for number in range(12):
        memory.append("k", user(f"Деталь узел{number}а весит {number + 50} кг. " + "слово " * 12))
        memory.append("k", assistant("слово " * 25))
    memory.flush()


def _check(folder: Path, memory: Memory) -> None:
    invariants.check(memory)
    transcript = memory.history(key="k")[1]
    assert len(transcript.messages) == 24
    for pointer in ("last_consolidated", "last_flushed", "folded_through"):
        assert 0 <= transcript.pointer(pointer) <= 24
    assert transcript.folded_through <= transcript.last_flushed
    notes = "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("memory/2026-03-01.md")))
    ranges = [(int(a), int(b)) for a, b in re.findall(r"<!-- flushed [\w-]+#(\d+)-(\d+) -->", notes)]
    assert all(b < c for (_, b), (c, _) in pairwise(sorted(ranges))), ranges
    lines = Counter(line for line in notes.splitlines() if line.startswith("- Деталь"))
    assert not lines or max(lines.values()) == 1
    note = folder / archived.NOTE
    put_away = note.read_text("utf-8").splitlines() if note.exists() else []
    kept = {fact.text for fact in memory.facts()}
    there = kept | {line[2:].partition(" <!--")[0] for line in put_away if line.startswith("- ")}
    consumed = [m for m in transcript.messages if m.role == "user" and m.n <= transcript.last_consolidated]
    for message in consumed:
        assert message.text.partition(".")[0] in there
    assert len(memory.facts()) == len(kept)


def test_a_kill_at_any_step_of_the_background_work_heals_itself(tmp_path: Path) -> None:
    pristine, folder = tmp_path / "pristine", tmp_path / "workspace"
    _filled(pristine)
    shutil.copytree(pristine, folder)

    def scenario(promise: Callable[[str], None]) -> None:
        _open(folder, ScriptedModel(otherwise=_answer)).work()

    count = 0
    for step, how, _ in crash.steps(scenario):
        memory = _open(folder, ScriptedModel(otherwise=_answer))
        try:
            _check(folder, memory)
            memory.work()
            _check(folder, memory)
            assert memory.history(key="k")[1].folded_through > 0
            assert not tidy.is_due(memory.store)
            before = _state(folder)
            memory.work()
            assert _state(folder) == before
        except AssertionError as error:
            raise AssertionError(f"step {step} {how}: {error}") from error
        memory.index.close()
        shutil.rmtree(folder)
        shutil.copytree(pristine, folder)
        count += 1
    assert count > 40


def _state(folder: Path) -> dict[str, bytes]:
    kept = [*folder.glob("memory/**/*.md"), *folder.glob("sessions/**/*.jsonl"), folder / ".letopis/facts.jsonl"]
    return {str(path): path.read_bytes() for path in kept if path.exists()}


def test_a_kill_at_any_step_of_the_third_failure_takes_the_range_raw_once(tmp_path: Path) -> None:
    pristine, folder = tmp_path / "pristine", tmp_path / "workspace"
    _filled(pristine)
    down = ScriptedModel(otherwise=Unavailable("down"))
    for _ in range(2):
        _open(pristine, down).work()
    shutil.copytree(pristine, folder)

    def scenario(promise: Callable[[str], None]) -> None:
        _open(folder, ScriptedModel(otherwise=Unavailable("down"))).work()

    for step, how, _ in crash.steps(scenario):
        memory = _open(folder, ScriptedModel(otherwise=Unavailable("down")))
        memory.work()
        invariants.check(memory)
        transcript = memory.history(key="k")[1]
        raw = (folder / "memory/2026-03-01-raw-archive.md").read_text("utf-8")
        marks = re.findall(r"<!-- raw [\w-]+#(\d+)-(\d+) -->", raw)
        assert len(marks) == len(set(marks)), (step, how)
        spans = memory.store.facts.spans(transcript.session_id)
        assert len(spans) == len(set(spans)), (step, how)
        assert transcript.last_consolidated == max((b for _, b in spans), default=0), (step, how)
        memory.index.close()
        shutil.rmtree(folder)
        shutil.copytree(pristine, folder)
