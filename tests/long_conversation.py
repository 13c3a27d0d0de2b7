"""A conversation of 2,000 messages over real HTTP with a scripted model, and what became of it.

Forty facts are planted early and late, ten of them corrected later. The test checks what must
hold; the benchmark prints what it cost.
"""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from letopis.llm.connect import Models
from letopis.llm.openai_client import OpenAIModel
from letopis.llm.scripted_server import Answer, Calls, Fault, ScriptedServer
from letopis.memory import Memory, open_memory
from letopis.model import tokens
from letopis.settings.tree import ModelSettings

KEY = "cli:local"
WINDOW, REPLY = 8_000, 1_000
_RUSSIAN = """кухни гаража бани веранды чердака подвала сарая теплицы забора беседки колодца крыши лестницы террасы
ворот камина погреба бассейна мансарды прихожей"""
_ENGLISH = """bridge harbour library museum orchard pavilion quarry reservoir stadium theatre tunnel viaduct workshop
greenhouse lighthouse monastery observatory planetarium racecourse sawmill"""
RUSSIAN, ENGLISH = _RUSSIAN.split(), _ENGLISH.split()
_FACT = re.compile(r"(?:Бюджет \w+ — \d+ тысяч|The budget of the \w+ is \d+ dollars)")
_LINE = re.compile(r"#(\d+) user [^:]+:\d\d: ([^\n]*)")


def statement(thing: str, value: int) -> str:
    return f"Бюджет {thing} — {value} тысяч" if thing in RUSSIAN else f"The budget of the {thing} is {value} dollars"


def question(thing: str) -> str:
    return f"Какой бюджет {thing}?" if thing in RUSSIAN else f"What is the budget of the {thing}?"


class Background:
    """A model that does its work well, and fails as often as it is told to."""

    def __init__(self, failing: float) -> None:
        self.random, self.failing = random.Random(5), failing

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        if self.random.random() < self.failing:
            return Fault(status=503)
        choice = body.get("tool_choice")
        if not isinstance(choice, dict):
            return "Понятно, записал и думаю дальше над планом. " * 4
        name = choice["function"]["name"]
        text = str(body["messages"][-1]["content"]).partition("<<<conversation")[2]
        told = [(int(n), fact) for n, line in _LINE.findall(text) for fact in _FACT.findall(line)]
        items = [fact for _, fact in told]
        operations = [{"op": "add", "text": fact, "source": [n]} for n, fact in told]
        payload: dict[str, object] = {
            "save_memory": {"operations": operations},
            "save_notes": {"items": items},
            "fold": {"facts": items},
            "tidy_memory": {},
        }
        return Calls(((name, json.dumps(payload[name])),))


@dataclass
class Told:
    """What became of the conversation."""

    memory: Memory
    said: list[str]
    newest: dict[str, int]
    prompts: list[list[dict[str, Any]]] = field(default_factory=list)
    full: int = 0

    def missing(self) -> list[str]:
        """The planted facts whose newest value is neither in the prompt nor found by the tools."""
        system = str(self.memory.context(KEY).messages[0]["content"])
        out = []
        for thing, value in self.newest.items():
            wanted = statement(thing, value)
            hits = self.memory.search(question(thing), scope="all", k=8).hits
            if wanted not in system and not any(wanted in hit.text for hit in hits):
                out.append(wanted)
        return out

    def sizes(self) -> list[int]:
        """Tokens of each chat prompt."""
        return [tokens.of_messages(prompt) for prompt in self.prompts]

    def shared(self) -> float:
        """The share of the tokens of all prompts that begins as the prompt before did."""
        same = 0
        for before, after in pairwise(self.prompts):
            count = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
            same += tokens.of_messages(after[:count])
        return same / max(1, sum(self.sizes()[1:]))


def run(folder: Path, turns: int = 1_000, failing: float = 0.0, compression: bool = True) -> Told:
    """Hold the conversation; the background work is done after every fourth turn."""
    things = [*RUSSIAN, *ENGLISH]
    maker = random.Random(3)
    plan = {turns * at // 50: (thing, maker.randrange(100, 999)) for at, thing in enumerate(things)}
    corrected = {turns * (40 + at) // 50: (thing, maker.randrange(100, 999)) for at, thing in enumerate(things[::4])}
    newest = dict(plan.values()) | dict(corrected.values())
    with ScriptedServer(otherwise=Background(failing)) as server:
        model = OpenAIModel(ModelSettings(name="test", base_url=server.url, retries=0, max_tokens=REPLY), "test")
        memory = open_memory(
            folder, models=Models(model, model), environ={}, context_window_tokens=WINDOW, durability="batch",
            model__max_tokens=REPLY, embedding__kind="none", compression__enabled=compression,
        )  # fmt: skip
        told = Told(memory, [], newest)
        history = 0
        for turn in range(turns):
            thing = (plan | corrected).get(turn)
            filler = " ".join(maker.choices(("план", "стройка", "смета", "подрядчик", "сроки", "материал"), k=12))
            text = f"Шаг {turn}: {filler}." + (f" {statement(*thing)}." if thing else "")
            told.said.append(text)
            memory.turn(KEY, text)
            history += tokens.estimate(text) + 60
            told.full += history
            if turn % 4 == 3:
                memory.work()
        told.prompts = [body["messages"] for body in server.requests if body.get("stream")]
        memory.flush()
    return told
