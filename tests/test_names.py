"""Slugs, live names, keys: safe, ASCII, injective."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.errors import InvalidInput
from letopis.model import names


@given(st.text(max_size=200))
def test_a_slug_of_any_text_is_a_safe_name(text: str) -> None:
    made = names.slug(text)
    assert made
    assert set(made) <= set(string.ascii_lowercase + string.digits + "-")
    assert not made.startswith("-")
    assert not made.endswith("-")
    assert len(made) <= 48


@pytest.mark.parametrize("text", ["", "—", "CON", "nul", "COM1", "raw-archive", "session-raw", "🙂", "成语"])
def test_what_leaves_no_usable_name_gets_the_fallback(text: str) -> None:
    assert names.slug(text) == "session"


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Поездка в Казань", "poezdka-v-kazan"),
        ("Ёлка и щёголь", "elka-i-schegol"),
        ("Café Zürich", "cafe-zurich"),
        ("слаг с пробелами", "slag-s-probelami"),
        ("a" * 500, "a" * 48),
        ("word " * 30, "word-word-word-word-word-word-word-word-word"),
    ],
)
def test_slugs_are_transliterated_and_cut_between_words(text: str, slug: str) -> None:
    assert names.slug(text) == slug


def test_different_keys_have_different_files_also_where_case_does_not_count() -> None:
    keys = ["telegram:a_b", "telegram:a:b", "telegram/a:b", "TELEGRAM:a_b", "ж" * 300, "ж" * 299, "../../etc"]
    stems = {names.live_stem(key).lower() for key in keys}
    assert len(stems) == len(keys)
    assert all("/" not in stem and "." not in stem for stem in stems)


@pytest.mark.parametrize("key", ["", "   ", "x" * 513, 5, None])
def test_what_cannot_be_a_key_is_refused(key: object) -> None:
    with pytest.raises(InvalidInput):
        names.check_key(key)  # type: ignore[arg-type]


@pytest.mark.parametrize("session_id", ["", "../x", "A", "a/b", "a" * 65, "a.b", "x\0"])
def test_what_cannot_be_a_session_id_is_refused(session_id: str) -> None:
    with pytest.raises(InvalidInput):
        names.check_session_id(session_id)


def test_a_taken_name_gets_a_number_before_its_ending() -> None:
    taken = {"2026-03-01-1015-session-raw.md", "2026-03-01-1015-2-session-raw.md"}
    made = names.free("2026-03-01-1015", "-session-raw.md", taken.__contains__)
    assert made == "2026-03-01-1015-3-session-raw.md"
