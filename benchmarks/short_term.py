"""Whether data said early in one conversation is at hand when it is asked for.

    python benchmarks/short_term.py [--lengths 50,200,1000] [--questions 200] [--json]

A seeded generator makes conversations with price lists, rates, specifications and dates, in
Russian and English, with corrections and changes of topic. Each question asks for a datum that
has left the window; its look-up's words come from the question alone. Beside it: a bare sliding
window, and search over the messages. Then the time of a look-up, by length.
"""

import argparse
import random
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from report import report

from letopis.lifecycle.anchor import anchor
from letopis.llm.connect import Models
from letopis.memory import Memory, open_memory
from letopis.model import tokens
from letopis.short_term import look_up
from letopis.store.init import init

WINDOW, REPLY = 2_000, 300
_RUSSIAN = "дуб сосна бук ясень клён липа граб вяз тис ольха берёза осина пихта кедр ива рябина"
_ENGLISH = "bolt hinge latch rivet washer bracket spindle gasket valve flange pulley clamp dowel caster grommet nozzle"
RUSSIAN, ENGLISH = _RUSSIAN.split(), _ENGLISH.split()
RUSSIAN_KINDS = ("Цена доски", "Вес доски", "Толщина доски", "Срок поставки доски")
ENGLISH_KINDS = ("Price of the", "Weight of the", "Length of the", "Delivery time of the")
RUSSIAN_UNITS, ENGLISH_UNITS = ("руб.", "кг", "мм", "дней"), ("dollars", "grams", "mm", "days")
FILLER = (
    "Расскажи, как лучше хранить инструмент зимой, чтобы он не ржавел и был под рукой в мастерской.",
    "Tell me how to keep a garden alive in a dry summer without watering it every single evening.",
    "Посоветуй маршрут прогулки по старому городу с детьми, чтобы никто не устал и было интересно.",
    "What would you cook for six guests if one of them eats no meat and another one no milk at all?",
)


@dataclass
class Datum:
    """What a question asks for: its question, its newest statement and the ones before."""

    question: str
    newest: str
    older: list[str]


def said(maker: random.Random, kind: int, thing: str) -> tuple[str, str]:
    value = maker.randrange(100, 99_000)
    if thing in RUSSIAN:
        name, unit = f"{RUSSIAN_KINDS[kind]} {thing}", RUSSIAN_UNITS[kind]
        return f"{name}: {value} {unit}", f"{name}?"
    name, unit = f"{ENGLISH_KINDS[kind]} {thing}", ENGLISH_UNITS[kind]
    return f"{name}: {value} {unit}", f"What is the {name.lower()}?"


def conversation(memory: Memory, length: int, maker: random.Random) -> list[Datum]:
    """Fill a session; the data stands in its first half, corrections of a part of it in the third quarter."""
    things = [(kind, thing) for kind in range(4) for thing in (*RUSSIAN, *ENGLISH)]
    maker.shuffle(things)
    count = min(len(things), max(8, length // 4))
    data: dict[tuple[int, str], Datum] = {}
    early = [things[at : at + 4] for at in range(0, count, 4)]
    late = [things[at : at + 2] for at in range(0, count // 4, 2)]
    plan: dict[int, list[tuple[int, str]]] = {}
    for at, group in enumerate(early):
        plan[int(at * length / 4 / max(1, len(early)))] = group
    for at, group in enumerate(late):
        plan[length // 4 + int(at * length / 8 / max(1, len(late)))] = group
    for turn in range(length // 2):
        lines = []
        for kind, thing in plan.get(turn, []):
            statement, question = said(maker, kind, thing)
            known = data.get((kind, thing))
            data[(kind, thing)] = Datum(question, statement, [*known.older, known.newest] if known else [])
            lines.append(f"- {statement}")
        text = "\n".join(lines) if lines else maker.choice(FILLER)
        memory.append("k", {"role": "user", "content": text})
        memory.append("k", {"role": "assistant", "content": "Хорошо, учту это в плане. " * 4})
        if turn % 5 == 4:
            memory.work()
    memory.work()
    return list(data.values())


def measured(folder: Path, length: int, questions: int) -> dict[str, object]:
    maker = random.Random(length)
    init(folder)
    memory = open_memory(
        folder, models=Models(None, None), environ={}, durability="batch", embedding__kind="none",
        context_window_tokens=WINDOW, model__max_tokens=REPLY,
    )  # fmt: skip
    data = conversation(memory, length, maker)
    session_id, transcript = memory.history(key="k")[0].session_id, memory.history(key="k")[1]
    prompt = memory.context("k")
    system = str(prompt.messages[0]["content"])
    window = "\n".join(str(m["content"]) for m in prompt.messages[1:])
    gone = [d for d in data if d.newest not in window]
    asked = [maker.choice(gone) for _ in range(questions)] if gone else []
    counts = dict.fromkeys(("anchors", "with a look-up", "window", "search", "marked", "both"), 0)
    room = tokens.estimate(system + window)
    bare = _suffix(transcript.messages, room)
    for datum in asked:
        found = look_up(memory.store, memory.index, session_id, datum.question, WINDOW // 8, 10**9).text()
        hits = " ".join(hit.text for hit in memory.search(datum.question, scope="transcripts", k=5).hits)
        counts["anchors"] += datum.newest in system
        counts["with a look-up"] += datum.newest in system or datum.newest in found
        counts["window"] += datum.newest in bare
        counts["search"] += datum.newest in hits
        own = [line for line in system.splitlines() if datum.newest in line]
        together = [line for line in own if any(older in line for older in datum.older)]
        stale = [o for o in datum.older if o in system and datum.newest in system]
        counts["both"] += bool(stale)
        counts["marked"] += bool(stale) and bool(together)
    times = []
    for datum in (asked or data)[:50]:
        start = time.perf_counter()
        look_up(memory.store, memory.index, session_id, datum.question, WINDOW // 8, 10**9)
        times.append((time.perf_counter() - start) * 1000)
    total = max(1, len(asked))
    shares = {name: 100 * counts[name] / total for name in ("with a look-up", "anchors", "search", "window")}
    both = counts["both"]
    return {
        "messages": length,
        "questions": len(asked),
        **{f"{name}, %": value for name, value in shares.items()},
        "outdated marked, %": 100 * counts["marked"] / both if both else "-",
        "look-up, ms": statistics.median(times),
    }


def _suffix(messages: list, budget: int) -> str:
    """The newest messages that fit as many tokens as the whole prompt took."""
    out = []
    for message in reversed(messages):
        budget -= tokens.estimate(message.text) + 4
        if budget < 0:
            break
        out.append(message.text)
    return "\n".join(out)


def look_up_time(folder: Path, count: int) -> dict[str, object]:
    """The look-up's time in one session of so many messages."""
    init(folder)
    memory = open_memory(folder, models=Models(None, None), environ={}, durability="batch", embedding__kind="none")
    maker, words = random.Random(1), [f"слово{n}а" for n in range(5_000)]
    for number in range(count):
        memory.append("k", {"role": "user", "content": f"номер {number} " + " ".join(maker.choices(words, k=12))})
    memory.index.sync()
    session_id = memory.history(key="k")[0].session_id
    times = []
    for _ in range(30):
        question = " ".join(maker.choices(words, k=3))
        memory.append("k", {"role": "user", "content": "дальше"})
        memory.index.sync()
        start = time.perf_counter()
        look_up(memory.store, memory.index, session_id, question, 1_000, 10**9)
        times.append((time.perf_counter() - start) * 1000)
    return {
        "messages in the session": count,
        "look-up, ms": statistics.median(times),
    }


def turn_costs(folder: Path, count: int, vectors: bool) -> dict[str, object]:
    """What anchors and history add to a turn in a session of so many messages, the model's own time aside."""
    init(folder)
    kind = "bundled" if vectors else "none"
    memory = open_memory(
        folder, models=Models(None, None), environ={}, durability="batch", embedding__kind=kind,
        context_window_tokens=WINDOW, model__max_tokens=REPLY,
    )  # fmt: skip
    conversation(memory, count, random.Random(count))
    session_id = memory.history(key="k")[0].session_id
    times: dict[str, list[float]] = {"in the index": [], "anchors, vector given": [], "history": [], "vector": []}
    for number in range(30):
        for text in (f"- Цена доски бук{number}а: {number + 700} руб.\n- вес: {number} кг", "Записал и учёл в смете."):
            memory.append("k", {"role": "user" if "-" in text else "assistant", "content": text})
            start = time.perf_counter()
            memory.index.note()
            times["in the index"].append(time.perf_counter() - start)
        n = memory.history(key="k")[1].last_n
        start = time.perf_counter()
        memory.index.meanings(session_id, [n - 1, n])
        times["vector"].append(time.perf_counter() - start)
        start = time.perf_counter()
        anchor(memory.store, memory.index, None, memory.store.sessions.transcript(session_id, "k"))
        times["anchors, vector given"].append(time.perf_counter() - start)
        start = time.perf_counter()
        memory.tail("k", WINDOW // 2)
        times["history"].append(time.perf_counter() - start)
    middle = {f"{name}, ms": statistics.median(values) * 1000 for name, values in times.items()}
    return {"messages": count, "vectors": "bundled" if vectors else "none", **middle}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lengths", default="50,200,1000")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--times", default="500,100000")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(Path(folder) / length, int(length), chosen.questions) for length in chosen.lengths.split(",")]
        times = [look_up_time(Path(folder) / f"t{count}", int(count)) for count in chosen.times.split(",")]
        costs = [turn_costs(Path(folder) / f"c{v}", 1_000, v) for v in (False, True)]
    report("short_term", rows, times=times)
    report("look-ups", times)
    report("a turn", costs)


if __name__ == "__main__":
    main()
