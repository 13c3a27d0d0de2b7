"""What an append costs beside a bare write and fsync of the same bytes, and whether it grows.

    python benchmarks/append.py [--json]

The two are interleaved in one process, so that they meet the same disk at the same time.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path

from report import report

from letopis.memory import Memory, open_memory
from letopis.store.init import init

LENGTHS = (10, 1_000, 100_000)
ROUNDS = 2_000
WARM_UP = 300
BLOCK = 100
MESSAGE = {"role": "user", "content": "Подскажите, пожалуйста, когда будет готов отчёт за март? " * 3}


def fill(memory: Memory, key: str, count: int) -> Path:
    """A live session of so many messages, its lines written directly."""
    memory.append(key, MESSAGE)
    path = memory.store.transcripts.live_path(key)
    line = path.read_text("utf-8").splitlines()[1]
    with path.open("a", encoding="utf-8") as file:
        for number in range(2, count + 1):
            file.write(line.replace('"n": 1,', f'"n": {number},') + "\n")
    memory.append(key, MESSAGE)
    return path


def measure(memory: Memory, folder: Path, count: int) -> dict[str, object]:
    """Medians over the rounds, in microseconds."""
    key = f"bench:{count}"
    path = fill(memory, key, count)
    line = path.read_bytes().splitlines(keepends=True)[-1]
    bare = os.open(folder / f"bare-{count}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(bare, path.read_bytes())
    os.fsync(bare)
    walls: dict[str, list[float]] = {"bare": [], "append": []}
    processor: dict[str, float] = {"bare": 0.0, "append": 0.0}

    def bare_write() -> None:
        os.write(bare, line)
        os.fsync(bare)

    calls = {"bare": bare_write, "append": lambda: memory.append(key, MESSAGE)}
    for _ in range(WARM_UP):
        bare_write()
        memory.append(key, MESSAGE)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            cpu, wall = time.process_time(), time.perf_counter()
            call()
            walls[name].append(time.perf_counter() - wall)
            processor[name] += time.process_time() - cpu
    os.close(bare)
    medians = {name: statistics.median(values) * 1e6 for name, values in walls.items()}
    own = (processor["append"] - processor["bare"]) / ROUNDS * 1e6
    return {
        "messages": count,
        "bare write+fsync, µs": medians["bare"],
        "append, µs": medians["append"],
        "ratio": _ratio(walls["append"], walls["bare"]),
        "own processor time, µs": own,
    }


def _ratio(append: list[float], bare: list[float]) -> float:
    """The median over blocks of rounds, each block compared with itself: machines change their pace."""
    blocks = range(0, ROUNDS, BLOCK)
    return statistics.median(
        statistics.median(append[at : at + BLOCK]) / statistics.median(bare[at : at + BLOCK]) for at in blocks
    )


def main() -> None:
    """Measure each length in one workspace."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        init(folder / "workspace")
        memory = open_memory(folder / "workspace", environ={})
        report("append", [measure(memory, folder, count) for count in LENGTHS], rounds=ROUNDS)


if __name__ == "__main__":
    main()
