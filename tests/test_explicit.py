"""What a person tells the memory in so many words, and what only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from letopis.model import explicit, secrets
from letopis.model.explicit import Forget, Remember, Replace


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Remember that my dog is called Rex.", "My dog is called Rex"),
        ("Please remember: the report is due on 5 June", "The report is due on 5 June"),
        ("Hi! Remember that v1.2.3 is out. And now something else.", "V1.2.3 is out"),
        ("Запомни, что встречи лучше после 11:00.", "Встречи лучше после 11:00"),
        ("Привет! Запомни пожалуйста: дедлайн 12 мая", "Дедлайн 12 мая"),
        ("Имей в виду, что я не ем орехи", "Я не ем орехи"),
        ("Don't forget that I am allergic to nuts", "I am allergic to nuts"),
        ("запомните: код домофона зелёный", "Код домофона зелёный"),
    ],
)
def test_a_request_to_remember_is_heard(message: str, text: str) -> None:
    assert explicit.told(message) == [Remember(text)]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Forget that my dog is called Rex", "My dog is called Rex"),
        ("Больше не считай, что я вегетарианец.", "Я вегетарианец"),
        ("Забудь про встречу с Олегом", "Встречу с Олегом"),
    ],
)
def test_a_request_to_forget_is_heard(message: str, text: str) -> None:
    assert explicit.told(message) == [Forget(text)]


@pytest.mark.parametrize(
    "message",
    [
        "Do you remember when we met?",
        "I remember that day well",
        "Remember me?",
        "Remember to call me",
        "Я запомнил, что ты сказал",
        "Он сказал: «Запомни, что я прав»",
        "> Remember that quoted text is not mine",
        "```\nRemember that this is code\n```",
        "`Remember that this is code`",
        "Больше не хочу кофе",
        "Запомни",
        "Remember that ...",
        "",
    ],
)
def test_what_only_looks_like_a_request_is_not_one(message: str) -> None:
    assert explicit.told(message) == []


@given(st.text(max_size=400))
def test_any_message_is_legal(message: str) -> None:
    assert isinstance(explicit.told(message), list)
    assert explicit.attribute(message) is None or len(explicit.attribute(message) or ()) == 2


@pytest.mark.parametrize(
    ("old", "new", "contradicts"),
    [
        ("My dog is called Max", "My dog is called Rex", True),
        ("My name is Ann", "My name is Anna Smith", True),
        ("Меня зовут Аня", "Меня зовут Анна", True),
        ("Бюджет — 100 тысяч", "Бюджет — 250 тысяч", True),
        ("Дедлайн: 12 мая", "Дедлайн — 15 мая", True),
        ("My favourite colour is blue", "My favourite colour is green", True),
        ("Я живу в Казани", "Теперь я живу в Твери", True),
        ("I like tea", "I like coffee", False),
        ("My brother is tall", "My brother is a doctor", False),
        ("My name is Ann", "Her name is Bea", False),
        ("Бюджет ремонта — 100", "Бюджет поездки — 200", False),
    ],
)
def test_only_single_valued_attributes_contradict(old: str, new: str, contradicts: bool) -> None:
    before, after = explicit.attribute(old), explicit.attribute(new)
    same = before is not None and after is not None and before[0] == after[0] and before[1] != after[1]
    assert same is contradicts


SECRETS = [
    "sk-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "AKIAIOSFODNN7EXAMPLE",
    "Authorization: Bearer abcdef1234567890",
    "password=hunter2hunter2",
    "пароль: зелёныйСлон42",
    "api_key: 'abcdef123456'",
    "postgres://user:s3cr3tpw@host/db",
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_found_and_masked(secret: str) -> None:
    text = f"before {secret} after"
    assert secrets.holds_secret(text)
    masked = secrets.redact(text)
    assert secrets.holds_mask(masked)
    assert not secrets.holds_secret(masked)
    assert masked.startswith("before ")


@pytest.mark.parametrize(
    "text", ["a sketch of task-force", "the password is long", "пароль забыт", "1.2.3", "http://host:80/"]
)
def test_ordinary_words_are_no_secret(text: str) -> None:
    assert not secrets.holds_secret(text)


def test_masks_are_numbered_and_in_the_language_of_the_text() -> None:
    text = "sk-abcdefghijklmnop1234 и sk-zzzzzzzzzzzzzzzz9999"
    assert secrets.redact(text, cyrillic=True) == "[скрыто:token#1] и [скрыто:token#2]"


# --- pointing, preferring, replacing ----------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "previous", "expected"),
    [
        ("Считай это важным архитектурным решением.", "Храним всё в файлах.", [Remember("Храним всё в файлах")]),
        ("Храним всё в файлах. Считай это важным решением", "", [Remember("Храним всё в файлах")]),
        ("Сначала скорость, потом красота. Это новый приоритет проекта.", "Хорошо!", [
            Remember("Сначала скорость, потом красота")]),
        ("Consider this an important decision.", "We keep everything in files.", [
            Remember("We keep everything in files")]),
        ("This is our new priority", "Speed first. Is that clear?", [Remember("Speed first")]),
        ("Remember this.", "The code is 4512.", [Remember("The code is 4512")]),
        ("Теперь предпочитаю короткие ответы", "", [Remember("Предпочитаю короткие ответы")]),
        ("Now I prefer short answers.", "", [Remember("I prefer short answers")]),
        ("Больше не считай, что я живу в Казани", "", [Forget("Я живу в Казани")]),
        ("Это решение отменено.", "Храним всё в базе.", [Forget("Храним всё в базе")]),
        ("Forget that.", "I live in Oslo.", [Forget("I live in Oslo")]),
        ("Мы больше не используем Jira, теперь работаем через Linear", "", [
            Replace("Jira", "Работаем через Linear")]),
        ("We no longer use Jira, now we work with Linear.", "", [Replace("Jira", "We work with Linear")]),
        ("Это новый дом? Считай это как хочешь", "Дом.", []),
        ("Больше не хочу кофе", "Я люблю кофе.", []),
        ("Мы больше не используем Jira", "Мы используем Jira.", []),
        ("Он сказал: «считай это решением»", "Дом.", []),
        ("`forget that`", "I live in Oslo.", []),
        ("> Это решение отменено.", "Храним всё в базе.", []),
        ("Это решение отменено.", "", []),
        ("Это решение отменено.", "Какое решение?", []),
    ],
)  # fmt: skip
def test_this_is_what_was_said_before_and_an_exchange_is_one_request(
    message: str, previous: str, expected: list[object]
) -> None:
    meant, answered = explicit.meant_by_this(previous, "")
    found = explicit.told(message, meant)
    assert not (answered and meant)
    assert [(type(r), r.text) for r in found] == [(type(r), r.text) for r in expected]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("before", "answer", "meant"),
    [
        ("Мы выбрали PostgreSQL.", "Отлично! Если нужна помощь, дайте знать.", "Мы выбрали PostgreSQL"),
        ("Как хранить архив?", "Хороший вопрос. Архив хранят в JSONL. Дайте знать!", "Архив хранят в JSONL"),
        ("Rent is due on the first. Remember that.", "Sure, tell me more.", "Rent is due on the first"),
        ("Remember that the code is 4512", "Done. Let me know!", "The code is 4512"),
        ("Привет?", "", ""),
    ],
)
def test_this_is_the_persons_own_statement_or_the_sentence_that_answers(before: str, answer: str, meant: str) -> None:
    assert explicit.meant_by_this(before, answer)[0] == meant


def test_huge_texts_take_no_time() -> None:
    huge = "x" * 300_000
    for before, answer in (
        (huge, huge),
        (f"{huge}. Remember that {huge}", f"a. {huge}?"),
        ("?" * 100_000, ". " * 50_000),
    ):
        explicit.meant_by_this(before, answer)
        explicit.told(before + " Forget that.", answer[:100])
