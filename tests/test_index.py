"""The index: one way in, honest answers, the same after any history of edits."""

import os
import signal
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import IndexBusy, SearchError, SessionNotFound, Unavailable
from letopis.index import compact
from letopis.index.presence import Presence
from letopis.llm.connect import Models
from letopis.memory import Memory, open_memory
from letopis.model import pieces, terms
from letopis.model.search import Query
from letopis.store.init import init
from tests.conftest import HandClock, Opener, assistant, user


class Letters:
    """A real, if simple, embedder: counts of letter pairs. Texts that share word parts are near."""

    identity = "letters/64"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.broken = False

    def _made(self, texts: list[str]) -> np.ndarray:
        if self.broken:
            raise Unavailable("the embedder is down")
        out = np.zeros((len(texts), 64), np.float32)
        for row, text in zip(out, texts, strict=True):
            for left, right in zip(text.lower(), text.lower()[1:], strict=False):
                row[hash_of(left + right) % 64] += 1
        return out

    def queries(self, texts: list[str]) -> np.ndarray:
        return self._made(texts)

    def passages(self, texts: list[str]) -> np.ndarray:
        self.seen += texts
        return self._made(texts)


def hash_of(text: str) -> int:
    return sum(ord(c) * 31**i for i, c in enumerate(text))


@pytest.fixture
def embedded(folder: Path, clock: HandClock) -> Memory:
    return open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})


def sources(memory: Memory, text: str, **filters: str) -> list[str]:
    return [hit.source for hit in memory.search(text, **filters).hits]


# --- words ------------------------------------------------------------------------------------

PAIRS = [
    ("суббота", "встретимся в субботу"),
    ("ёлка", "поставили елку в углу"),
    ("елка", "красивая ёлочка и ёлки"),
    ("память", "в памяти ассистента"),
    ("договорённости по архитектуре", "договоренность об архитектуре сервиса"),
    ("плагины рекомендации", "плагин для рекомендаций"),
    ("ЦЕНА", "цены выросли"),
    ("running tests", "the test runs"),
    ("TASK-4821", "закрыли TASK-4821 вчера"),
    ("4821", "закрыли TASK-4821 вчера"),
    ("flush_buffer", "call flush_buffer() first"),
    ("buffer", "call flush_buffer() first"),
    ("v1.2.3", "released v1.2.3 today"),
    ("foo@bar.ru", "пишите на foo@bar.ru"),
    ("C++", "we use C++ here"),
    ("148500", "обойдётся в 148 500 рублей"),
    ("成语", "今天玩成语接龙"),
    ("🙂", "отлично 🙂"),
    ("it's", "it's fine"),
    ("100%", "скидка 100%"),
    ("path/to/file.py", "see path/to/file.py"),
]


@pytest.mark.parametrize(("question", "text"), PAIRS)
def test_every_form_of_a_word_finds_it(memory: Memory, question: str, text: str) -> None:
    memory.append("k", user("совсем другое сообщение"))
    memory.append("k", user(text))
    found = memory.search(question)
    assert found.status == "ok"
    assert found.hits[0].n == 2


ODD = ['a"b', "NEAR(", "*", "", "AND", "x OR", "\0", "'", "a" * 100_000, "«", "-- ;"]


@given(st.text(max_size=300) | st.sampled_from(ODD))
def test_any_question_is_legal_and_typed(opened: Opener, text: str) -> None:
    memory = opened()
    memory.append("k", user("слон в саду"))
    found = memory.search(text)
    assert found.status in ("ok", "empty")
    assert len(found.hits) <= 10


@given(st.text(max_size=4000), st.integers(20, 700))
def test_pieces_hold_all_of_a_text_within_the_limit(text: str, limit: int) -> None:
    made = pieces.split(text, limit)
    assert all(len(piece) <= limit for piece in made)
    assert "".join("".join(made).split()) == "".join(text.split())


@given(st.text(max_size=500))
def test_terms_are_whole_for_the_tokenizer(text: str) -> None:
    base = sqlite3.connect(":memory:")
    tokenizer = "unicode61 remove_diacritics 0 categories 'L* N* Co So'"
    base.execute(f'CREATE VIRTUAL TABLE w USING fts5(t, tokenize="{tokenizer}")')
    base.execute("CREATE VIRTUAL TABLE v USING fts5vocab(w, instance)")
    made = terms.terms(text)
    base.execute("INSERT INTO w VALUES (?)", (" ".join(made).encode("utf-8", "replace").decode(),))
    seen = [row[0] for row in base.execute("SELECT term FROM v ORDER BY offset")]
    assert len(seen) == len(made)


def test_quoted_phrases_are_honoured(memory: Memory) -> None:
    for text in ("белая кухня", "кухня совсем белая", "белая большая кухня"):
        memory.append("k", user(text))
    assert [hit.n for hit in memory.search('"белая кухня"').hits] == [1]
    assert memory.search("какая «белая кухня» была").hits[0].n == 1
    assert memory.search('"белая слон"').status == "empty"


def test_a_relaxed_answer_says_so_and_nothing_is_empty(memory: Memory) -> None:
    memory.append("k", user("белая кухня"))
    assert memory.search("белая кухня").relaxed is False
    assert memory.search("белая слон").relaxed is True
    assert memory.search("слон").status == "empty"


# --- ranking ----------------------------------------------------------------------------------


def test_more_is_a_continuation_of_fewer(memory: Memory) -> None:
    for number in range(30):
        memory.append("k", user(f"кухня номер {number} " + "слово " * (number % 7)))
    full = sources(memory, "кухня номер", k=30)  # type: ignore[arg-type]
    for k in range(1, 31):
        assert [h.source for h in memory.search("кухня номер", k=k).hits] == full[:k]


def test_a_lone_note_competes_with_a_long_chat(memory: Memory) -> None:
    memory.remember("Пароль домофона знает консьерж")
    for number in range(300):
        memory.append("k", user(f"разговор о погоде и консьерж {number}"))
    assert "fact" in {hit.kind for hit in memory.search("домофон консьерж").hits[:2]}


def test_speaker_role_and_date_have_their_say(memory: Memory, clock: HandClock) -> None:
    memory.append("k", {**user("купила краску"), "name": "Маша"})
    memory.append("k", {**user("купила краску"), "name": "Оля"})
    memory.append("k", assistant("советую краску"))
    clock.forward(days=40)
    memory.append("k", {**user("купила краску"), "name": "Света"})
    assert memory.search("Что купила Оля, краску?").hits[0].n == 2
    assert memory.search("Какую краску ты советовал?").hits[0].n == 3
    assert memory.search("краска в апреле").hits[0].n == 4


# --- filters and scopes -----------------------------------------------------------------------


def test_filters_let_through_what_they_say(memory: Memory, clock: HandClock) -> None:
    memory.remember("Слон живёт в саду")
    first = memory.append("a", user("слон раз"), persona="default").session_id
    clock.forward(days=3)
    memory.append("b", user("слон два"))
    assert {h.kind for h in memory.search("слон", scope="notes").hits} == {"fact"}
    assert {h.kind for h in memory.search("слон", scope="transcripts").hits} == {"message"}
    assert sources(memory, "слон", key="a") == [f"{first}#1"]
    assert sources(memory, "слон", session_id=first) == [f"{first}#1"]
    assert [h.key for h in memory.search("слон", since="2026-03-04").hits] == ["b"]
    assert [h.key for h in memory.search("слон", until="2026-03-02", scope="transcripts", key="a").hits] == ["a"]
    with pytest.raises(SessionNotFound):
        memory.search("слон", key="nobody")


# --- the way in -------------------------------------------------------------------------------


def test_what_was_just_said_is_found_and_what_was_removed_is_not(memory: Memory, folder: Path) -> None:
    memory.append("k", user("слон"))
    assert memory.search("слон").hits
    note = folder / "memory/note.md"
    note.write_text("# Звери\n\nЖираф высокий.\n")
    (hit,) = memory.search("жираф").hits
    assert (hit.path, hit.lines, hit.heading) == ("memory/note.md", (3, 3), "Звери")
    note.rename(folder / "memory/renamed.md")
    assert memory.search("жираф").hits[0].path == "memory/renamed.md"
    (folder / "memory/renamed.md").unlink()
    assert memory.search("жираф").status == "empty"


def test_an_edit_of_the_same_size_and_time_is_seen(memory: Memory, folder: Path) -> None:
    note = folder / "memory/note.md"
    note.write_text("слон\n")
    assert memory.search("слон").hits
    stat = note.stat()
    note.write_text("кот!\n")
    os.utime(note, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert memory.search("кот").hits


def test_files_that_cannot_be_read_are_named_and_stop_nothing(memory: Memory, folder: Path, tmp_path: Path) -> None:
    memory.append("k", user("слон"))
    (folder / "memory/bad.md").write_bytes(b"\xff\xfe slon")
    (folder / "memory/big.md").write_text("x" * (9 * 1024 * 1024))
    (tmp_path / "outside.md").write_text("слон снаружи")
    (folder / "memory/link.md").symlink_to(tmp_path / "outside.md")
    (folder / "memory/2026-03-01-raw-archive.md").write_text("слон в сыром архиве")
    (folder / "memory/.hidden.md").write_text("слон спрятан")
    found = memory.search("слон")
    assert found.status == "degraded"
    assert len(found.hits) == 1
    assert {p.split(" ")[0] for p in found.problems} == {"memory/bad.md", "memory/big.md", "memory/link.md"}


def test_a_session_keeps_its_rows_from_live_to_archive(embedded: Memory, folder: Path) -> None:
    for key in ("a", "b"):
        embedded.append(key, user(f"слон {key}"))
        embedded.append(key, user("ещё"))
    embedded.search("слон")
    embedded.index.fill()
    for key in ("a", "b"):
        embedded.close(key)
        embedded.append(key, user(f"новый {key}"))
        assert len([h for h in embedded.search("слон", scope="transcripts").hits if h.matched]) == 2
        embedded.drain()
    hits = [h for h in embedded.search("слон", scope="transcripts").hits if h.matched]
    assert {hit.key for hit in hits} == {"a", "b"}
    assert all(embedded.history(session_id=hit.session_id)[0].state == "archived" for hit in hits)
    embedded.index.fill()
    seen = embedded._embedder.seen  # type: ignore[union-attr]
    assert len(seen) == len(set(seen)), "a text was embedded twice"


def test_internal_and_service_messages_are_not_found(memory: Memory) -> None:
    memory.append("k", {**user("слон"), "internal": True})
    memory.append("k", {**user("слон"), "service": True})
    memory.append("k", {"role": "system", "content": "слон"})
    assert memory.search("слон").status == "empty"


operations = st.lists(
    st.tuples(st.sampled_from(["say", "note", "edit", "drop", "close", "delete", "fact", "search"]), st.integers(0, 4)),
    max_size=14,
)


@given(operations)
@pytest.mark.timeout(180)
def test_any_history_of_edits_equals_a_rebuild(
    clock: HandClock, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    init(folder)
    memory = open_memory(folder, models=Models(None, None), clock=clock, environ={}, embedding__kind="none")
    for action, number in steps:
        note = folder / f"memory/note{number}.md"
        if action == "say":
            memory.append(f"k{number}", user(f"слон сказал {number}"))
        elif action in ("note", "edit"):
            note.write_text(f"# Т{number}\n\nслон {action} {number}\n\n- кот\n- слон\n")
        elif action == "drop":
            note.unlink(missing_ok=True)
        elif action == "close":
            memory.close(f"k{number}")
            memory.drain()
        elif action == "delete" and memory.sessions():
            memory.store.delete_session(memory.sessions()[0].session_id)
        elif action == "fact":
            memory.remember(f"Слон помнит число {number}")
        else:
            memory.search("слон")
    asked = [Query(text, "all", k) for text in ("слон", "кот", "слон сказал 1", "помнит") for k in (3, 50)]
    before = [answer(memory, query) for query in asked]
    memory.index.rebuild()
    assert [answer(memory, query) for query in asked] == before
    memory.index.close()
    for path in folder.glob("memory/vector.db*"):
        path.unlink()
    assert [answer(memory, query) for query in asked] == before
    memory.index.close()


def answer(memory: Memory, query: Query) -> list[tuple[str, float]]:
    return [(hit.source, round(hit.score, 3)) for hit in memory.index.search(query).hits]


# --- meaning ----------------------------------------------------------------------------------


def test_what_shares_no_word_is_found_by_meaning(embedded: Memory) -> None:
    for number in range(40):
        embedded.append("k", user(f"qwrt zxcv {number} plmn"))
    embedded.append("k", user("elephantine creature"))
    embedded.index.sync()
    assert embedded.index.fill() == 41
    found = embedded.search("elephants creatureless")
    assert found.hits[0].n == 41
    assert found.hits[0].parts["meaning"] > 0.1


def test_without_the_embedder_words_still_answer_and_it_is_said(embedded: Memory) -> None:
    embedded.append("k", user("слон"))
    embedded.index.sync()
    embedded.index.fill()
    embedded._embedder.broken = True  # type: ignore[union-attr]
    found = embedded.search("слон")
    assert (found.status, len(found.hits)) == ("degraded", 1)
    assert "down" in found.problems[0]
    embedded._embedder.broken = False  # type: ignore[union-attr]
    assert embedded.search("слон").status == "ok"


def test_vectors_of_another_model_are_never_mixed(embedded: Memory, folder: Path, clock: HandClock) -> None:
    embedded.append("k", user("слон"))
    embedded.index.sync()
    embedded.index.fill()
    embedded.index.close()
    other = Letters()
    other.identity = "other/64"  # type: ignore[misc]
    changed = open_memory(folder, models=Models(None, None), embedder=other, clock=clock, environ={})
    assert "--rebuild" in changed.search("слон").problems[0]
    with pytest.raises(SearchError, match="--rebuild"):
        changed.index.fill()
    changed.index.rebuild()
    assert changed.index.fill() == 1
    assert changed.search("слон").status == "ok"


@pytest.mark.parametrize("vector", [np.zeros(64), np.full(64, np.nan), np.full(64, np.inf)])
def test_a_vector_that_is_none_leaves_the_text_to_words(embedded: Memory, vector: np.ndarray) -> None:
    embedded.append("k", user("слон"))
    embedded._embedder.passages = lambda texts: np.tile(vector, (len(texts), 1))  # type: ignore[union-attr, method-assign]
    embedded.index.sync()
    embedded.index.fill()
    assert embedded.search("слон").hits
    assert embedded.index.status().without_vector == 1


def test_filling_stops_and_goes_on(embedded: Memory) -> None:
    for number in range(100):
        embedded.append("k", user(f"сообщение {number}"))
    embedded.index.sync()
    made = []
    first = embedded.index.fill(lambda done, total: made.append(done), stop=lambda: len(made) >= 1)
    assert 0 < first < 100
    assert embedded.index.fill() == 100 - first
    assert embedded.index.status().without_vector == 0


def test_filling_and_searching_at_once_disturb_neither(embedded: Memory) -> None:
    for number in range(120):
        embedded.append("k", user(f"слон номер {number}"))
    embedded.index.sync()
    failures: list[object] = []

    def search() -> None:
        for _ in range(15):
            found = embedded.search("слон", k=200)
            if found.status not in ("ok", "stale") or found.total != 120:
                failures.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert embedded.index.fill() == 120
    for thread in threads:
        thread.join()
    assert failures == []
    assert not list(embedded.index.path.parent.glob("*.damaged-*"))


# --- damage, processes, compaction --------------------------------------------------------------


@pytest.mark.parametrize("damage", ["middle", "empty", "garbage"])
def test_a_damaged_index_is_made_anew_and_kept(memory: Memory, opened: Opener, folder: Path, damage: str) -> None:
    for number in range(200):
        memory.append("k", user(f"слон {number} " + "слово " * 20))
    memory.search("слон")
    memory.index.close()
    path = folder / "memory/vector.db"
    data = path.read_bytes()
    broken = {"middle": data[:4096] + b"\xa5" * 8192 + data[12288:], "empty": b"", "garbage": b"not a database" * 500}
    path.write_bytes(broken[damage])
    found = opened().search("слон 7")
    assert found.hits
    if damage != "empty":
        assert list((folder / "memory").glob("vector.db.damaged-*"))


@pytest.mark.timeout(60)
def test_two_write_and_four_search_without_an_error(folder: Path) -> None:
    def child(work: int) -> None:
        code = 1
        try:
            memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
            for number in range(25):
                if work < 2:
                    memory.append(f"w{work}", user(f"слон {work} {number}"))
                found = memory.search("слон")
                assert found.status in ("ok", "empty", "stale"), found
            code = 0
        finally:
            os._exit(code)

    pids = []
    for work in range(6):
        pid = os.fork()
        if pid == 0:
            child(work)
        pids.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 6
    memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
    assert memory.search("слон", k=100).total == 50


@pytest.mark.timeout(60)
def test_a_kill_during_sync_or_filling_heals_itself(folder: Path, clock: HandClock) -> None:
    memory = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
    for number in range(300):
        memory.append("k", user(f"слон {number}"))
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1):
        pid = os.fork()
        if pid == 0:
            other = open_memory(folder, models=Models(None, None), embedder=Letters(), clock=clock, environ={})
            other.index.sync()
            other.index.fill()
            os._exit(0)
        signal.sigtimedwait([signal.SIGUSR1], delay)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert memory.search("слон", k=400).total == 300
    memory.index.fill()
    assert memory.index.status().without_vector == 0
    base = memory.index._opened().connection
    counts = [base.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("units", "pieces")]
    assert counts == [300, 300]
    assert base.execute("SELECT count(DISTINCT doc) FROM places").fetchone()[0] == 300


def test_compaction_keeps_every_answer_and_a_backup_to_the_byte(embedded: Memory, folder: Path) -> None:
    for number in range(50):
        (folder / f"memory/n{number}.md").write_text(f"слон {number} " + "слово " * 200)
    embedded.append("k", user("слон живой"))
    embedded.index.sync()
    embedded.index.fill()
    for number in range(1, 50):
        (folder / f"memory/n{number}.md").unlink()
    before = embedded.search("слон", k=50).record()
    embedded.index.close()
    path = folder / "memory/vector.db"
    planned = compact.plan(path)
    assert planned.unused_vectors > 0
    done = compact.compact(path, embedded.index.lock_path, lambda step: None)
    assert done.size < done.plan.size
    backup = folder / "memory" / done.backup
    assert backup.stat().st_size == done.plan.size
    assert embedded.search("слон", k=50).record() == before
    assert compact.plan(path).unused_vectors == 0


def test_compaction_waits_for_nobody_and_is_refused_while_the_index_is_open(memory: Memory) -> None:
    memory.append("k", user("слон"))
    memory.search("слон")
    with pytest.raises(IndexBusy, match="another program"):
        compact.compact(memory.index.path, memory.index.lock_path, lambda step: None)
    memory.index.close()
    alone = Presence(memory.index.lock_path, alone=True)
    assert memory.search("слон").status == "error"
    alone.leave()
    assert memory.search("слон").status == "ok"
