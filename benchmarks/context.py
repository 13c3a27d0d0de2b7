"""What a prompt costs: its assembly in a session of 10,000 messages, and a conversation of 2,000 over real HTTP.

    python benchmarks/context.py [--messages 10000] [--turns 1000] [--json]

Assembly is timed after an append each, so the transcript is followed as in a turn. The
conversation is that of `tests/long_conversation.py`; prompts are compared with sending all of it.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from report import report

from letopis.llm.connect import Models
from letopis.memory import open_memory
from letopis.store.init import init

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.long_conversation import run


def assembly(folder: Path, count: int, compression: bool) -> dict[str, object]:
    """Milliseconds that the prompt takes in a session of so many messages, and how large it is."""
    init(folder)
    memory = open_memory(
        folder, models=Models(None, None), environ={}, durability="batch", embedding__kind="none",
        compression__enabled=compression,
    )  # fmt: skip
    for number in range(count // 2):
        memory.append("k", {"role": "user", "content": f"Вопрос {number}: " + "слово и дело " * 12})
        memory.append("k", {"role": "assistant", "content": f"Ответ {number}: " + "слово и дело " * 12})
    if compression:
        memory.work()
    for number in range(20):
        memory.remember(f"Сотрудник номер {number} ведёт проект {number * 7}")
    memory.context("k")
    times = []
    for _ in range(20):
        memory.append("k", {"role": "user", "content": "Ещё вопрос?"})
        start = time.perf_counter()
        prompt = memory.context("k")
        times.append((time.perf_counter() - start) * 1000)
    return {
        "messages": count,
        "compression": "on" if compression else "off",
        "assembly, ms": statistics.median(times),
        "slowest, ms": max(times),
        "tokens": prompt.tokens,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [assembly(Path(folder) / str(on), chosen.messages, on) for on in (True, False)]
        place = Path(folder) / "talk"
        init(place)
        told = run(place, chosen.turns)
        sizes = told.sizes()
    facts = {
        "turns": chosen.turns,
        "largest prompt, tokens": max(sizes),
        "all prompts, tokens": sum(sizes),
        "sending all of it each time, tokens": told.full,
        "share of that": sum(sizes) / told.full,
        "share that begins as the prompt before": told.shared(),
    }
    report("context", rows, conversation=facts)
    print(
        "  ".join(
            f"{name}: {value:.3f}" if isinstance(value, float) else f"{name}: {value}" for name, value in facts.items()
        )
    )


if __name__ == "__main__":
    main()
