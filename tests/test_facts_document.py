"""MEMORY.md as a document: nothing that is not a fact changes by a byte."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.model import facts
from letopis.model.facts import Fact

MEMORY = """\ufeff# Memory

Prose that a person wrote.

## Люди

- Маша любит чай <!-- f:11111111 2026-03-01 s:abc#1 -->
* a hand-written one
  with a second line

```bash
# not a heading
- not a fact
```

<!--
- not a fact either
-->

## Work

- Deadline is on 12 May <!-- f:22222222 2026-03-01 -->

<!-- letopis: 0badcafe -->
"""

lines = st.lists(
    st.sampled_from(
        [
            "# A",
            "## B",
            "- one",
            "* two",
            "  cont",
            "",
            "text",
            "```",
            "<!-- x",
            "-->",
            "- x <!-- f:12345678 -->",
            "1. n",
        ]
    )
    | st.text(max_size=20)
)


@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_text_is_a_document_and_stays_as_it_is(parts: list[str], newline: str, bom: bool) -> None:
    text = ("\ufeff" if bom else "") + newline.join(parts)
    assert facts.parse(text).text() == text


def test_facts_are_bullets_outside_code_and_comments() -> None:
    document = facts.parse(MEMORY)
    assert [(f.id, f.text, f.section) for f in document.facts] == [
        ("11111111", "Маша любит чай", "Люди"),
        ("", "a hand-written one with a second line", "Люди"),
        ("22222222", "Deadline is on 12 May", "Work"),
    ]
    assert document.marker == "0badcafe"
    assert document.facts[0].sources == ("abc#1",)


def test_comments_of_ours_never_reach_a_prompt() -> None:
    shown = facts.parse(MEMORY).for_prompt()
    assert "f:1111" not in shown
    assert "letopis:" not in shown
    assert "- Маша любит чай\n" in shown


def kept(before: str, after: str, changed: set[str]) -> None:
    """Every line but the changed ones stands in the other text, in its order."""
    rest = iter(after.split("\n"))
    for line in before.split("\n"):
        if line not in changed and "letopis:" not in line:
            assert any(line == other for other in rest), line


@given(lines, st.sampled_from(["", "B", "New"]), st.text(min_size=1, max_size=30))
def test_an_added_fact_is_found_again_and_moves_nothing_else(parts: list[str], section: str, text: str) -> None:
    before = "\n".join(parts) + "\n"
    said = facts.clean(text)
    if not said or facts.parse(before).by_id().get("aaaaaaaa"):
        return
    document = facts.added(facts.parse(before), Fact("aaaaaaaa", said, section, "2026-03-01", ("s#1",)))
    kept(before, document.text(), set())
    fence_or_comment_is_open = document.by_id().get("aaaaaaaa") is None
    if not fence_or_comment_is_open:
        assert document.by_id()["aaaaaaaa"].fact.text == said


def test_a_replaced_and_a_removed_fact_leave_the_rest_to_the_byte() -> None:
    text = MEMORY.replace("\n", "\r\n")
    document = facts.parse(text)
    assert document.newline == "\r\n"
    changed = facts.replaced(document, replace(document.facts[0], text="Маша любит кофе"))
    assert changed.text() == text.replace("Маша любит чай", "Маша любит кофе")
    gone = facts.without(changed, ("22222222",))
    assert gone.text() == changed.text().replace("- Deadline is on 12 May <!-- f:22222222 2026-03-01 -->\r\n", "")


def test_hand_written_and_copied_facts_get_ids_of_their_own() -> None:
    text = MEMORY + "- Маша любит чай <!-- f:11111111 2026-03-01 s:abc#1 -->\n"
    made = facts.identified(facts.parse(text), {}, "2026-03-05").facts
    assert len({f.id for f in made}) == len(made) == 4
    assert all(len(f.id) == 8 for f in made)
    assert facts.identified(facts.parse(text), {}, "2026-03-05").facts == made


def test_a_fact_without_its_comment_is_recognised() -> None:
    known = {"33333333": Fact("33333333", "Likes tea", "", "2026-01-01", ("x#2",))}
    (fact,) = facts.identified(facts.parse("- likes tea.\n"), known, "2026-03-05").facts
    assert fact.id == "33333333"
    assert fact.sources == ("x#2",)


def test_marking_twice_is_marking_once() -> None:
    once = facts.marked(facts.parse("# M\n\n- a"), "12345678")
    assert facts.marked(once, "12345678").text() == once.text() == "# M\n\n- a\n\n<!-- letopis: 12345678 -->\n"


@pytest.mark.parametrize("at", range(len(MEMORY)))
def test_a_save_cut_anywhere_is_mended_without_loss(at: int) -> None:
    whole = facts.parse(MEMORY)
    cut = facts.parse(MEMORY[:at])
    if not facts.looks_cut(cut, whole):
        missing = len(whole.facts) - len(cut.facts)
        assert cut.marker is not None or (MEMORY[:at].endswith("\n") and missing < 4)
        return
    assert facts.mended(cut, whole).text().removeprefix("\ufeff") == MEMORY.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Likes tea.", "likes «tea»", True),
        ("The dog is called Rex", "dog is called Rex", True),
        ("Ёлка стоит", "елка стоит", True),
        ("Likes tea", "Does not like tea", False),
        ("Costs 3.5", "Costs 35", False),
        ("Купил дом", "Купит дом", False),
        ("Uses C++", "Uses C", False),
    ],
)
def test_comparison_forgives_form_and_never_meaning(left: str, right: str, same: bool) -> None:
    assert (facts.comparable(left) == facts.comparable(right)) is same
