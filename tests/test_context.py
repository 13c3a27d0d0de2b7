"""The prompt: order, caps, visible cuts, and always within the window."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis import context, tools
from letopis.memory import Memory
from letopis.model import tokens
from letopis.model.transcript import Transcript
from tests.conftest import Opener, assistant, user
from tests.test_messages import call, stored


def system(memory: Memory, key: str = "cli:local") -> str:
    return str(memory.context(key).messages[0]["content"])


def write(memory: Memory, name: str, text: str) -> None:
    path = memory.store.workspace.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_the_blocks_stand_in_the_order_of_the_design(memory: Memory) -> None:
    for name in ("AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md"):
        write(memory, name, f"text of {name}")
    memory.remember("a fact of the memory")
    memory.append("cli:local", user("a live question"))
    prompt = memory.context("cli:local")
    text = "\n".join(str(m["content"]) for m in prompt.messages)
    marks = ["long-term memory", "of AGENTS.md", "of SOUL.md", "of TOOLS.md", "of USER.md", "a fact", "a live question"]
    assert sorted(marks, key=text.index) == marks
    assert prompt.messages[0]["role"] == "system"


def test_templates_and_empty_files_take_no_room(memory: Memory) -> None:
    assert [b.name for b in memory.context("cli:local").blocks] == ["system", "conversation"]


def test_tool_only_layers_never_come_by_themselves(memory: Memory) -> None:
    for name in (
        "memory/2026-03-01.md",
        "memory/2026-03-01-1000-x.md",
        "memory/x-raw-archive.md",
        "memory/conversations/a.md",
    ):
        write(memory, name, "sentinel-word")
    memory.append("other", user("sentinel-word"))
    memory.close("other")
    memory.drain()
    assert "sentinel-word" not in str(memory.context("cli:local").messages)


@pytest.mark.parametrize(("window", "limit"), [(32_000, 8_000), (200_000, 16_000), (4_000, 1_000)])
def test_the_profile_is_cut_by_characters_with_a_mark(opened: Opener, window: int, limit: int) -> None:
    memory = opened(context_window_tokens=window)
    write(memory, "USER.md", "я" * 20_000)
    block = next(b for b in memory.context("cli:local").blocks if b.name == "USER.md")
    shown = block.text.count("я")
    assert shown <= limit
    assert shown >= limit * 0.9 or block.tokens >= block.cap * 0.8
    assert "not shown" in block.cut
    assert "[USER.md is cut here" in block.text


def test_an_undecodable_profile_is_left_out_and_named(memory: Memory) -> None:
    (memory.store.workspace.root / "USER.md").write_bytes(b"\xff\xfe name")
    prompt = memory.context("cli:local")
    (problem,) = [b.problem for b in prompt.blocks if b.problem]
    assert "USER.md is not UTF-8 at byte 0" in problem


def test_a_persona_has_its_own_soul_and_shares_the_profile(memory: Memory) -> None:
    write(memory, "SOUL.md", "the default soul")
    write(memory, "personas/pirate/SOUL.md", "the pirate's soul")
    write(memory, "USER.md", "who the user is")
    memory.append("p", user("ahoy"), persona="pirate")
    assert "pirate's soul" in system(memory, "p")
    assert "default soul" not in system(memory, "p")
    assert "who the user is" in system(memory, "p")


def test_a_huge_file_starves_no_other(opened: Opener) -> None:
    memory = opened(context_window_tokens=8_000)
    memory.remember("the one fact that matters")
    write(memory, "TOOLS.md", "tool " * 100_000)
    write(memory, "AGENTS.md", "агент " * 100_000)
    memory.append("cli:local", user("a live question"))
    prompt = memory.context("cli:local")
    assert prompt.tokens <= prompt.budget
    assert "the one fact that matters" in str(prompt.messages)
    assert "a live question" in str(prompt.messages)
    assert "[TOOLS.md is cut here" in str(prompt.messages)


def test_of_too_many_facts_the_newest_stay_whole(opened: Opener) -> None:
    memory = opened(context_window_tokens=4_000)
    lines = [f"- Fact number {n} about the matter <!-- f:{n:08x} 2026-01-{n % 28 + 1:02} -->" for n in range(2000)]
    write(memory, "memory/MEMORY.md", "# Memory\n\n" + "\n".join(lines) + "\n")
    block = next(b for b in memory.context("cli:local").blocks if b.name == "MEMORY.md")
    assert block.tokens <= block.cap
    assert "of 2000 facts are not shown" in block.cut
    assert "Fact number 1987 about the matter\n" in block.text


def test_old_turns_leave_whole_and_the_newest_message_stays(opened: Opener) -> None:
    memory = opened(context_window_tokens=4_000)
    for number in range(60):
        memory.append("k", user(f"question {number} " + "слово " * 20))
        memory.append("k", {"role": "assistant", "content": None, "tool_calls": [call(f"c{number}")]})
        memory.append("k", {"role": "tool", "tool_call_id": f"c{number}", "content": "result"})
        memory.append("k", assistant(f"answer {number}"))
    prompt = memory.context("k")
    assert prompt.turns_left_out > 0
    told = prompt.messages[1:]
    assert told[0]["role"] == "user"
    assert len(told) % 4 == 0
    assert "answer 59" in str(told[-1])
    assert f"{prompt.turns_left_out} older turns are not shown" in prompt.blocks[-1].cut


def test_a_message_too_large_for_the_window_is_cut_visibly(opened: Opener) -> None:
    memory = opened(context_window_tokens=4_000)
    memory.append("k", user("начало " + "слово " * 20_000))
    prompt = memory.context("k")
    assert prompt.tokens <= prompt.budget
    assert "начало" in str(prompt.messages[-1])
    assert "[cut:" in str(prompt.messages[-1])


def test_images_are_counted_and_old_ones_are_named_only(opened: Opener) -> None:
    memory = opened(context_window_tokens=8_000)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 2_000_000}}
    memory.append("k", {"role": "user", "content": [{"type": "text", "text": "look"}, image]})
    first = memory.context("k")
    assert first.tokens <= first.budget
    assert "base64" in json.dumps(first.messages)
    memory.append("k", user("and now?"))
    second = json.dumps(memory.context("k").messages)
    assert "base64" not in second
    assert "[image_url sent earlier" in second


def test_consecutive_prompts_share_their_beginning(memory: Memory) -> None:
    memory.append("k", user("one"))
    memory.append("k", assistant("two"))
    first = memory.context("k").messages
    memory.append("k", user("three"))
    assert memory.context("k").messages[: len(first)] == first


texts = st.text(max_size=400) | st.sampled_from(["", "слово " * 900, "word " * 3000, "🙂" * 500, "{}[]" * 800])
turns = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), texts), max_size=12)


folds = st.fixed_dictionaries(
    {"goal": texts, "facts": st.lists(texts, max_size=5), "done": st.lists(texts, max_size=5)}
)


@given(
    files=st.lists(texts, min_size=5, max_size=5),
    said=turns,
    window=st.sampled_from([2_000, 3_000, 8_000]),
    folded=folds,
    through=st.integers(0, 6),
)
@pytest.mark.timeout(120)
def test_whatever_stands_in_files_and_history_the_prompt_fits_and_is_valid(
    opened: Opener, files: list[str], said: list[tuple[str, str]], window: int, folded: dict[str, object], through: int
) -> None:
    memory = opened(context_window_tokens=window)
    for name, text in zip(("AGENTS.md", "SOUL.md", "TOOLS.md", "USER.md", "memory/MEMORY.md"), files, strict=True):
        write(memory, name, text.encode("utf-8", "replace").decode())
    transcript = Transcript(messages=[stored(n, role=r, content=t) for n, (r, t) in enumerate(said, 1)])
    transcript.state = {"folded_through": through, "folded_summary": folded}
    specs = [tool.spec() for tool in tools.available(memory.store).values()]
    prompt = context.assemble(memory.store, transcript, specs)
    schema = sum(tokens.estimate(json.dumps(s.wire(), ensure_ascii=False)) for s in prompt.tools)
    reply = min(memory.store.settings.model.max_tokens, window // 4)
    assert tokens.of_messages(prompt.messages) <= prompt.budget
    assert prompt.budget + reply + schema <= window
    assert all(isinstance(m["content"], str | list) for m in prompt.messages)
    last = next((m for m in reversed(transcript.messages) if m.role == "user"), None)
    if last is not None and last.text.strip() and last.n > transcript.folded_through:
        assert any(m["role"] == "user" for m in prompt.messages)
