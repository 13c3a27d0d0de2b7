"""The index in memory beside the one on disk; compaction under kills; options; watching."""

import os
import sqlite3
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.index import compact, rank
from letopis.index.diversity import diverse
from letopis.index.rank import Corpus
from letopis.llm.connect import Models
from letopis.memory import Memory, open_memory
from letopis.model import answers
from letopis.model.search import Query
from letopis.store.init import init
from tests import crash
from tests.conftest import HandClock, Opener, user
from tests.test_index import Letters, answer, embedded  # noqa: F401

steps = st.lists(
    st.tuples(st.sampled_from(["say", "note", "drop", "fill", "rebuild", "search"]), st.integers(0, 3)), max_size=12
)


@given(steps)
@pytest.mark.timeout(180)
def test_what_was_read_bit_by_bit_equals_what_is_read_at_once(
    clock: HandClock, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("bits")
    init(folder)
    memory = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    other = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    asked = [Query(text, "all", 20) for text in ("слон", "кот серый", "число")]
    for action, number in steps:
        if action == "say":
            memory.append(f"k{number}", user(f"слон сказал {number} " + "длинное слово " * 60 * (number == 3)))
        elif action == "note":
            (folder / f"memory/n{number}.md").write_text(f"# Т\n\nкот серый {number}\n\n- кот\n- число {number}\n")
        elif action == "drop":
            (folder / f"memory/n{number}.md").unlink(missing_ok=True)
        elif action == "fill":
            other.index.sync()
            other.index.fill()
        elif action == "rebuild":
            other.index.rebuild()
        else:
            [memory.index.search(query) for query in asked]
    found = [answer(memory, query) for query in asked]
    fresh = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    assert [answer(fresh, query) for query in asked] == found
    assert [answer(other, query) for query in asked] == found
    for each in (memory, other, fresh):
        each.index.close()


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=5), st.data())
def test_cover_is_what_its_definition_says(shape: list[list[int]], data: st.DataObject) -> None:
    """Each group is a list of units, each a number of pieces; one term stands in some of the pieces."""
    units = [count for group in shape for count in group]
    groups = [at for at, group in enumerate(shape) for _ in group]
    owner = np.repeat(np.arange(len(units)), units)
    holding = data.draw(st.sets(st.integers(0, len(owner) - 1), min_size=1))
    lengths = np.full(len(owner), 10, np.float32)
    corpus = Corpus.of(owner, lengths, np.array(groups))
    places = np.array(sorted(holding))
    scores = rank.rank(corpus, [rank.Matches(places, np.ones(len(places), np.float32))], None, {})
    own = np.bincount(owner[places], minlength=len(units))
    norm = 0.5 + 0.5 * np.array(units) / np.mean(units)
    for unit in range(len(units)):
        near, alone = 0.0, 1.0
        for distance, weight in rank.NEIGHBOURS:
            for other in (unit - distance, unit + distance):
                if 0 <= other < len(units) and groups[other] == groups[unit]:
                    near += weight * own[other] / norm[other]
                else:
                    alone += rank.LONE * weight
        best = alone * (own[unit] > 0) + near
        expected = (best / (best + rank.K1)) ** rank.COVER_POWER
        assert scores.parts["words"][unit] == pytest.approx(expected, abs=1e-5)
        assert scores.held[unit] == (own[unit] > 0)


def test_an_index_of_an_older_schema_keeps_its_vectors(folder: Path, clock: HandClock) -> None:
    memory = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    memory.append("k", user("слон живёт в Москве"))
    memory.index.sync()
    assert memory.index.fill() == 1
    path = memory.index.path
    memory.index.close()
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE plain AS SELECT digest, vector FROM vectors")
    base.execute("DROP TABLE vectors")
    base.execute("ALTER TABLE plain RENAME TO vectors")
    base.execute("UPDATE meta SET value = '0' WHERE name = 'schema'")
    base.commit()
    base.close()
    again = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    assert again.index.status().without_vector == 0
    assert again.search("слон").status == "ok"


def test_a_rebuild_by_another_program_is_seen(folder: Path, clock: HandClock, embedded: Memory) -> None:  # noqa: F811
    for number in range(5):
        embedded.append("k", user(f"слон {number}"))
    assert embedded.search("слон").total == 5
    other = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    other.index.rebuild()
    other.index.close()
    embedded.append("k", user("слон 5"))
    assert sorted(hit.n for hit in embedded.search("слон").hits) == [1, 2, 3, 4, 5, 6]


@pytest.mark.timeout(60)
def test_a_kill_at_any_step_of_compaction_loses_nothing(folder: Path, clock: HandClock) -> None:
    def opened() -> Memory:
        return open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})

    memory = opened()
    memory.append("k", user("слон живой"))
    memory.index.sync()
    memory.index.fill()
    path, lock = memory.index.path, memory.index.lock_path
    memory.index.close()

    def scenario(promise: object) -> None:
        def step(text: str) -> None:
            os.fsync(os.open(folder, os.O_RDONLY))  # a step that the harness sees, between those of SQLite

        compact.compact(path, lock, step)

    count = 0
    for step, how, _ in crash.steps(scenario):
        count += 1
        memory = opened()
        assert [hit.text for hit in memory.search("слон").hits] == ["слон живой"], (step, how)
        assert memory.index.status().without_vector == 0
        memory.index.close()
    assert count > 8
    compact.compact(path, lock, lambda text: None)
    assert not list(folder.glob("memory/*.tmp*"))


# --- options ----------------------------------------------------------------------------------


def test_newness_counts_only_when_it_is_asked_for(opened: Opener, clock: HandClock) -> None:
    memory = opened()
    memory.append("old", user("слон в зоопарке, слон большой"))
    memory.close("old")
    clock.moment += timedelta(days=400)
    memory.append("new", user("был слон в зоопарке вчера утром"))
    first = memory.search("слон большой").hits[0]
    assert first.n == 1
    assert first.key == "old"
    fresh = opened(vector_memory__recency=1.0)
    assert fresh.search("слон большой").hits[0].key == "new"


def test_diversity_puts_a_repetition_after_what_differs(opened: Opener) -> None:
    memory = opened()
    for number, text in enumerate(("слон пьёт воду", "слон пьёт воду", "слон спит под деревом в тени")):
        memory.append(f"k{number}", user(text))
    plain = [hit.text for hit in memory.search("слон пьёт воду").hits]
    assert plain[:2] == ["слон пьёт воду"] * 2
    varied = opened(vector_memory__diversity=0.9)
    texts = [[hit.text for hit in varied.search("слон пьёт воду", k=k).hits] for k in (1, 2, 3)]
    assert texts[2][1].startswith("слон спит")
    assert texts[2][:2] == texts[1]
    assert texts[1][:1] == texts[0]


def test_texts_without_words_repeat_nothing() -> None:
    assert diverse([7, 8, 9], [3.0, 2.0, 1.0], [frozenset()] * 3, 0.5) == [7, 8, 9]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did she move?", "time"),
        ("В каком году он родился?", "time"),
        ("Какого числа свадьба?", "time"),
        ("Во сколько встреча?", "time"),
        ("How many cats are there?", "number"),
        ("Сколько стоит шкаф?", "number"),
        ("Who came?", None),
        ("Где ключи?", None),
    ],
)
def test_what_a_question_expects(question: str, kind: str | None) -> None:
    assert answers.expected(question) == kind


@pytest.mark.parametrize(
    ("text", "kinds"), [("в мае 2024", "tn"), ("yesterday", "t"), ("три кота", "n"), ("just words", ""), ("", "")]
)
def test_what_a_text_could_answer(text: str, kinds: str) -> None:
    assert answers.given(text) == kinds


# --- watching ---------------------------------------------------------------------------------


@pytest.mark.timeout(60)
def test_watching_takes_in_a_note_without_being_asked(folder: Path) -> None:
    command = [sys.executable, "-m", "letopis", "index", "--watch", "--set", "embedding.kind=none", "--json"]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert '"status": "ok"' in child.stdout.readline()
        (folder / "memory/seen.md").write_text("слон пришёл\n")
        line = child.stdout.readline()
    finally:
        child.terminate()
        child.wait()
        child.stdout.close() if child.stdout else None
    assert '"status": "ok"' in line
    base = sqlite3.connect(folder / "memory/vector.db")
    deadline = time.monotonic() + 20
    while not base.execute("SELECT count(*) FROM units WHERE text LIKE '%слон%'").fetchone()[0]:
        assert time.monotonic() < deadline
    base.close()
