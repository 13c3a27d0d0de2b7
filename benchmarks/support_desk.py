"""A support desk that is made up: what is asked in other words every time, and answers that change.

Each line of `support_desk.txt` is one kind of question: what it is about, in several words, and
how it is asked, in several ways; `{}` is the thing. Twins are asked like another kind (its number)
with one condition more, and have another answer.
"""

import random
from dataclasses import dataclass
from pathlib import Path

PARAPHRASES, CHANGING = 34, 12

OPENERS = {
    "ru": ("Здравствуйте,", "Добрый день,", "Подскажите,", "Скажите пожалуйста,", "Вопрос:", "", "", "Ребята,"),
    "en": ("Hello,", "Hi there,", "Please tell me,", "Quick question:", "Sorry to bother,", "", "", "Hey,"),
}
TAILS = {
    "ru": ("?", "? Спасибо", "? Срочно", ", помогите", "?", "? Заранее благодарю"),
    "en": ("?", "? Thanks", "? It is urgent", ", please help", "?", "? Cheers"),
}
ANSWER = {
    "ru": "По вопросу «{}»: действует правило {} срок {} дней, подробности в разделе {}.",
    "en": "About {}: rule {} applies, the term is {} days, see section {}.",
}


@dataclass
class Intent:
    """One kind of question: its paraphrases, not yet asked, and the answer that is right now."""

    language: str
    name: str
    paraphrases: list[str]
    answer: str
    twin: bool


def _table(name: str) -> list[tuple[list[str], list[str]]]:
    blocks = (Path(__file__).parent / "support_desk.txt").read_text("utf-8").split("\n\n")
    text = next(block for block in blocks if block.startswith(f"# {name}\n"))
    rows = (line.partition(" > ") for line in text.strip().splitlines()[1:])
    return [(things.split("|"), asks.split("|")) for things, _, asks in rows]


def _paraphrase(maker: random.Random, language: str, things: list[str], asks: list[str], conditions: list[str]) -> str:
    core, condition = maker.choice(asks).format(maker.choice(things)), maker.choice(conditions)
    core = f"{core}, {condition}" if maker.random() < 0.5 or not condition else f"{condition}, {core}"
    parts = maker.choice(OPENERS[language]), core.strip(", ") + maker.choice(TAILS[language])
    return " ".join(" ".join(parts).split())


def answer(maker: random.Random, language: str, name: str) -> str:
    """An answer with figures of its own."""
    return ANSWER[language].format(name, maker.randint(100, 999), maker.randint(2, 90), maker.randint(1, 60))


def intents(seed: int) -> list[Intent]:
    """Sixty kinds of questions, nine of them twins."""
    maker = random.Random(seed)
    found: list[Intent] = []
    for language, table in (("ru", "russian"), ("en", "english")):
        base = _table(table)
        more = [(int(row[0][0]), row[1]) for row in _table(f"{table}_twins")]
        for things, asks, conditions in [(t, a, [""]) for t, a in base] + [(*base[at], c) for at, c in more]:
            texts: set[str] = set()
            while len(texts) < PARAPHRASES:
                core = maker.choice(asks).format(maker.choice(things))
                condition = maker.choice(conditions)
                core = f"{core}, {condition}" if maker.random() < 0.5 or not condition else f"{condition}, {core}"
                texts.add(
                    " ".join(
                        f"{maker.choice(OPENERS[language])} {core.strip(', ')}{maker.choice(TAILS[language])}".split()
                    )
                )
            shuffled = sorted(texts)
            maker.shuffle(shuffled)
            name = things[0] + (f" ({conditions[0]})" if conditions[0] else "")
            found.append(Intent(language, name, shuffled, answer(maker, language, name), bool(conditions[0])))
    return found
