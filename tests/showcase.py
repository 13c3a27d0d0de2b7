"""A workspace with something on every page of the library; all of it is invented."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from letopis.experience.add import add
from letopis.llm.connect import Models
from letopis.llm.port import Reply, Request
from letopis.llm.scripted import ScriptedModel, calling
from letopis.llm.scripted_server import Answer, Calls, ScriptedServer
from letopis.memory import Memory, open_memory
from letopis.server.app import application
from letopis.server.workspaces import Workspaces
from letopis.store.init import init
from tests.conftest import MOSCOW, HandClock
from tests.serving import serving

KITCHEN = (
    ("user", "Хочу белую кухню, бюджет 150 000 рублей"),
    ("assistant", "Записал: белая кухня, до 150 000 рублей. Матовая или глянцевая?"),
    ("user", "Матовая. И столешница из дуба, не шире 60 см"),
    ("assistant", "Дуб 60 см подойдёт. Выбрали: матовая белая кухня за 148 500 рублей."),
    ("user", "Да, берём. Замер 12 мая, сборка до 5 июня"),
    ("assistant", "Замер 12 мая, сборка до 5 июня."),
)
TRIP = (
    ("user", "We fly to Lisbon on 3 June. I need an aisle seat, my knee hurts on long flights"),
    ("assistant", "Aisle seat noted. Do you want a hotel near the centre?"),
    ("user", "Yes, in Alfama, with breakfast. Vegetarian, please"),
    ("assistant", "A vegetarian breakfast in Alfama, then."),
)
SUMMARIES = {
    "кухн": {"title": "Белая кухня", "slug": "belaya-kuhnya", "topics": ["кухня"], "decisions": ["Кухня матовая белая"],
             "summary": "Выбрали матовую белую кухню за 148 500 рублей. Замер 12 мая, сборка до 5 июня.",
             "next_steps": ["Замер 12 мая"], "key_messages": [4, 5]},
    "Lisbon": {"title": "Trip to Lisbon", "slug": "trip-to-lisbon", "topics": ["Lisbon"], "decisions": [],
               "summary": "The flight to Lisbon is on 3 June; an aisle seat and a vegetarian breakfast in Alfama.",
               "next_steps": [], "key_messages": [1]},
}  # fmt: skip


def background(request: Request) -> Reply:
    """The model behind the worker: summaries of the two conversations, and no facts of its own."""
    if request.tools and request.tools[0].name == "save_summary":
        said = str(request.messages)
        return calling("save_summary", next(s for word, s in SUMMARIES.items() if word in said))
    return calling("save_memory", {"operations": []})


def made(folder: Path) -> Path:
    """The workspace in a new folder."""
    init(folder)
    clock = HandClock(datetime(2026, 3, 2, 10, 0, tzinfo=MOSCOW), step=20)
    model = ScriptedModel(otherwise=background)
    memory = open_memory(folder, models=Models(None, model), clock=clock, environ={}, embedding__kind="none")
    (folder / "USER.md").write_text(
        "# Обо мне\n\nМеня зовут Анна, живу в Казани. Говорю по-русски и in English.\n", "utf-8"
    )
    for days, key, talk in ((0, "telegram:12345", KITCHEN), (9, "web:planner", TRIP)):
        clock.forward(days=days)
        for role, text in talk:
            memory.append(key, {"role": role, "content": text})
        memory.close(key)
        memory.drain()
    for days, text, section in (
        (3, "Пьёт чай без сахара", "Привычки"), (8, "Кошку зовут Муся", "Семья"),
        (15, "Prefers an aisle seat on long flights", "Travel"), (20, "Сборка кухни до 5 июня", "Дом"),
        (4, "Vegetarian", "Travel"),
    ):  # fmt: skip
        clock.forward(days=days)
        memory.remember(text, section=section)
    memory.replace(next(f.id for f in memory.facts() if "5 июня" in f.text), "Сборка кухни до 8 июня")
    _talk_on(memory, clock)
    _experience(memory)
    (folder / "memory" / "2026-04-18.md").write_text(
        "# 2026-04-18\n\n- Выбрали плитку: серая, 30 на 60\n- Счёт за доставку 2 400 рублей\n", "utf-8"
    )
    (folder / "memory" / "ideas.md").write_text(
        "# Идеи\n\n## Кухня\n\n- подсветка под шкафами\n- **магнитная** планка\n\n"
        "| что | цена |\n|---|---|\n| лампа | 1 200 |\n",
        "utf-8",
    )
    memory.flush()
    return folder


def _talk_on(memory: Memory, clock: HandClock) -> None:
    clock.forward(days=3)
    key = "telegram:12345"
    told = memory.append(key, {"role": "user", "content": "Мне нужно выбрать плитку. Бюджет 40 000 рублей"})
    memory.append(key, {"role": "assistant", "content": "Серая 30 на 60 стоит 1 350 рублей за метр.",
                        "tool_calls": [{"id": "c1", "type": "function", "function":
                                        {"name": "memory_search", "arguments": '{"query": "плитка"}'}}]})  # fmt: skip
    memory.append(
        key, {"role": "tool", "tool_call_id": "c1", "name": "memory_search", "content": '{"status": "empty"}'}
    )
    memory.append(key, {"role": "user", "content": "Берём серую, 28 метров"})
    memory.append(key, {"role": "assistant", "content": "28 метров серой плитки — 37 800 рублей."})
    assert told.session_id
    memory.work()
    for session in range(3):
        other = f"bot:{session}"
        memory.append(other, {"role": "user", "content": f"Короткий разговор номер {session}"})
        memory.close(other)
    memory.drain()


def _experience(memory: Memory) -> None:
    pairs = (
        ("Как вернуть куртку?", "В течение 14 дней, с чеком.", "Возврат"),
        ("Сколько идёт доставка в Томск?", "Пять рабочих дней.", "Доставка"),
        ("How do I change my address?", "Under Profile, Addresses.", "Account"),
    )
    for question, answer, collection in pairs:
        add(memory.desk, question, answer, collection)
    for n in range(24):
        question, answer, _ = pairs[n % 3]
        found = memory.suggest(question if n % 4 else f"{question} Срочно, номер заказа {n}")
        if n < 21:
            wrong = n in (2, 8)
            right = f"{answer} (уточнено)" if wrong else ""
            memory.review(found.id, "rejected" if wrong else "approved", right)
    memory.suggest("Можно ли вернуть пальто без бирки?")


def chat(body: Any) -> Answer:
    """The model in the chat: looks into the memory once, then answers."""
    newest = body["messages"][-1]
    if newest["role"] == "tool":
        return "Нашла: чай вы пьёте без сахара, а кошку зовут Муся."
    if "помни" in str(newest["content"]):
        return "Хорошо."
    if "tools" in body and "?" in str(newest["content"]):
        return Calls((("memory_search", {"query": "чай"}),), text="Сейчас посмотрю. ")
    return "Хорошо, записала."


@contextmanager
def shown(folder: Path, at: datetime | None = None) -> Iterator[str]:
    """The address of the library over a workspace, with a scripted model behind the chat."""
    with ScriptedServer(otherwise=chat) as upstream:

        def opened(path: Path) -> Memory:
            clock = HandClock(at, step=0.01) if at else None
            model = {"model__base_url": upstream.url, "model__name": "demo", "model__api_key": "x"}
            memory = open_memory(path, environ={}, clock=clock, embedding__kind="none", **model)
            memory.models = Models(memory.models.chat, None)
            return memory

        with serving(application(Workspaces(folder, opened))) as url:
            yield url


def copied(source: Path, target: Path) -> Path:
    """A copy to change."""
    shutil.copytree(source, target)
    return target


LATER = datetime(2026, 5, 6, 12, 0, tzinfo=MOSCOW) + timedelta(days=2)
