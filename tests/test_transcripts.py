"""Live transcripts: append-only, tolerant, idempotent by id, one session a key."""

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import InvalidInput, OutsideWorkspace, SessionArchived, WriteFailed
from letopis.memory import Memory
from tests import invariants
from tests.conftest import HandClock, Opener, user
from tests.test_jsonl import records


def live_file(memory: Memory, key: str = "cli:local") -> Path:
    return memory.store.transcripts.live_path(key)


def test_the_header_and_the_lines_are_as_designed(memory: Memory) -> None:
    stored = memory.append("telegram:5", user("привет"), metadata={"chat": "a"})
    lines = [json.loads(line) for line in live_file(memory, "telegram:5").read_text("utf-8").splitlines()]
    assert lines[0] == {
        "_type": "session",
        "v": 1,
        "session_id": stored.session_id,
        "key": "telegram:5",
        "persona": "default",
        "created_at": lines[1]["timestamp"],
        "metadata": {"chat": "a"},
    }
    assert lines[1] == {"role": "user", "content": "привет", "n": 1, "timestamp": lines[1]["timestamp"]}
    assert live_file(memory, "telegram:5").stat().st_mode & 0o777 == 0o600


@given(st.lists(records, min_size=1, max_size=6))
def test_any_messages_survive_in_meaning(opened: Opener, fields: list[dict[str, object]]) -> None:
    memory = opened()
    key = f"test:{os.urandom(8).hex()}"
    wires = [{**f, "role": "user"} for f in fields]
    numbers = {json.dumps(w.get("id")): memory.append(key, w).n for w in wires}
    assert numbers
    _, transcript = opened().history(key=key)
    seen, expected = set(), []
    for wire in wires:
        id_ = wire.get("id")
        named = isinstance(id_, str | int)
        if not named or (type(id_), id_) not in seen:
            expected.append(wire)
        if named:
            seen.add((type(id_), id_))
    assert [m.wire for m in transcript.messages] == expected


def test_an_id_that_already_stands_changes_nothing_in_this_process_or_the_next(opened: Opener) -> None:
    memory = opened()
    first = memory.append("k", {**user("a"), "id": "m-1"})
    memory.append("k", user("b"))
    again = memory.append("k", {**user("a"), "id": "m-1"})
    other = opened().append("k", {**user("a"), "id": "m-1"})
    assert (first.n, first.new) == (1, True)
    assert (again.n, again.new) == (other.n, other.new) == (1, False)
    assert opened().append("k", {**user("c"), "id": 1}).n == 3


@pytest.mark.parametrize("cut", range(1, 60))
def test_a_torn_last_line_costs_only_itself(memory: Memory, opened: Opener, cut: int) -> None:
    memory.append("cli:local", user("первое"))
    memory.append("cli:local", user("второе"))
    path = live_file(memory)
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    stored = opened().append("cli:local", user("третье"))
    transcript = opened().store.sessions.live("cli:local")
    assert transcript is not None
    assert transcript.messages[0].text == "первое"
    assert transcript.messages[-1].text == "третье"
    assert stored.n == transcript.last_n
    assert len(transcript.bad) == (0 if cut == 1 else 1)


def test_damage_in_the_middle_is_counted_and_the_rest_is_read(memory: Memory, opened: Opener) -> None:
    memory.append("cli:local", user("a"))
    with live_file(memory).open("ab") as file:
        file.write(b"\0\0\0\n\xff\xfe\n[1]\n" + '{"role":"user","content":"x\u2028y","n":2,"timestamp":"t"}\n'.encode())
        file.write(b'{"role":"user","content":"\\ud83d","n":3,"timestamp":"t"}\n')
    assert opened().append("cli:local", user("b")).n == 4
    _, transcript = opened().history(key="cli:local")
    assert [m.text for m in transcript.messages] == ["a", "x\u2028y", "\ud83d", "b"]
    assert len(transcript.bad) == 3


def damage_first_line(path: Path) -> None:
    first, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(b"\0" * len(first) + b"\n" + rest)


def test_a_damaged_header_gets_a_new_one_with_the_next_message(memory: Memory) -> None:
    memory.append("cli:local", user("a"))
    damage_first_line(live_file(memory))
    assert memory.append("cli:local", user("b")).n == 2
    _, transcript = memory.history(key="cli:local")
    assert [m.text for m in transcript.messages] == ["a", "b"]
    assert memory.close("cli:local") == transcript.session_id


def test_a_damaged_header_hides_no_message_after_a_restart(memory: Memory, opened: Opener) -> None:
    memory.append("cli:local", user("слон"))
    damage_first_line(live_file(memory))
    again = opened()
    (line,) = again.sessions()
    assert line.key.startswith("recovered:cli-local--")
    assert again.search("слон").hits[0].session_id == line.session_id
    assert again.append("cli:local", user("b")).n == 1
    again.drain()
    invariants.check(again)


def test_time_never_goes_back_in_a_session(memory: Memory, clock: HandClock) -> None:
    memory.append("k", user("a"))
    clock.forward(hours=-5)
    memory.append("k", user("b"))
    invariants.check(memory)


def test_keys_never_share_a_file(memory: Memory) -> None:
    keys = ["telegram:a_b", "telegram:a:b", "telegram/a:b", "TELEGRAM:a_b", "ж" * 300, "../../../etc/passwd", "a\0b"]
    for key in keys:
        memory.append(key, user(key))
    for key in keys:
        line, transcript = memory.history(key=key)
        assert line.key == key
        assert [m.text for m in transcript.messages] == [key]
    root = memory.store.workspace.root
    assert all(root in path.resolve().parents for path in root.rglob("*.jsonl"))


def test_two_keys_of_one_hash_get_two_files(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("letopis.model.names.live_stem", lambda key: "same--00000000")
    for key in ("one", "two", "one"):
        memory.append(key, user(key))
    assert [m.text for m in memory.history(key="one")[1].messages] == ["one", "one"]
    assert [m.text for m in memory.history(key="two")[1].messages] == ["two"]


def test_a_late_line_goes_to_its_own_session_and_never_to_the_next(memory: Memory) -> None:
    first = memory.append("k", user("question"))
    memory.close("k")
    second = memory.append("k", user("new"))
    memory.append("k", {"role": "assistant", "content": "late answer"}, session_id=first.session_id)
    assert [m.text for m in memory.history(session_id=first.session_id)[1].messages] == ["question", "late answer"]
    assert [m.text for m in memory.history(session_id=second.session_id)[1].messages] == ["new"]
    memory.drain()
    with pytest.raises(SessionArchived, match="does not change any more"):
        memory.append("k", user("too late"), session_id=first.session_id)


def test_the_pointer_only_grows_and_stays_within_the_session(memory: Memory) -> None:
    stored = memory.append("k", user("a"))
    transcripts = memory.store.transcripts
    transcripts.append_state("k", stored.session_id, {"last_consolidated": 1})
    for wrong in (0, 2, -1):
        with pytest.raises(InvalidInput):
            transcripts.append_state("k", stored.session_id, {"last_consolidated": wrong})
    assert memory.history(key="k")[1].last_consolidated == 1


@pytest.mark.parametrize("message", [{}, {"role": "x"}, "text", {"role": "user", "content": float("nan")}])
def test_a_bad_message_is_refused_and_leaves_no_trace(memory: Memory, message: object) -> None:
    memory.append("k", user("a"))
    before = live_file(memory, "k").read_bytes()
    with pytest.raises(InvalidInput):
        memory.append("k", message)  # type: ignore[arg-type]
    assert live_file(memory, "k").read_bytes() == before


def test_a_full_disk_is_a_clear_error_and_takes_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.append("k", user("a"))
    before = live_file(memory, "k").read_bytes()
    real = os.write

    def full(fd: int, data: bytes) -> int:
        real(fd, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(WriteFailed, match="free some space"):
        memory.append("k", user("b"))
    monkeypatch.setattr(os, "write", real)
    assert live_file(memory, "k").read_bytes() == before
    assert memory.append("k", user("c")).n == 2
    invariants.check(memory)


def test_a_failed_sync_is_not_called_success(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.append("k", user("a"))

    def broken(fd: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(WriteFailed, match="Input/output error"):
            memory.append("k", user("b"))
    assert [m.text for m in memory.history(key="k")[1].messages] == ["a"]


def test_a_short_write_is_carried_on(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    for text in ("один", "два"):
        memory.append("k", user(text))
    assert [m.text for m in memory.history(key="k")[1].messages] == ["один", "два"]


def test_a_read_only_folder_is_a_clear_error(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def denied(path: object, flags: int, *args: object, **kwargs: object) -> int:
        if flags & os.O_CREAT and str(path).endswith((".tmp", ".jsonl")):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(WriteFailed, match="make the folder writable"):
        memory.append("k", user("a"))
    assert memory.sessions() == []


def test_a_transcript_that_is_a_link_out_of_the_workspace_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("{}\n")
    live_file(memory).symlink_to(outside)
    with pytest.raises(OutsideWorkspace):
        memory.append("cli:local", user("a"))
    assert outside.read_text() == "{}\n"


def test_batched_syncs_still_write_each_line_at_once(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), real(fd))[1])
    memory = opened(durability="batch")
    memory.append("k", user("0"))
    synced.clear()
    for number in range(1, 50):
        memory.append("k", user(str(number)))
        assert f'"{number}"' in live_file(memory, "k").read_text()
    assert len(synced) < 10
    memory.flush()
    assert synced


def test_threads_append_in_one_order(memory: Memory) -> None:
    def work(name: int) -> None:
        for number in range(20):
            memory.append("k", user(f"{name}-{number}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [m.text for m in memory.history(key="k")[1].messages]
    assert len(texts) == len(set(texts)) == 160
    for name in range(8):
        own = [t for t in texts if t.startswith(f"{name}-")]
        assert own == [f"{name}-{n}" for n in range(20)]
    invariants.check(memory)
