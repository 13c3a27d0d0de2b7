"""How long a search takes beside its bare parts, and what keeping the index up to date costs.

    python benchmarks/latency.py [--sizes 1000,10000,100000] [--json]

Messages and vectors are made by a seeded generator. Each figure is a median over the questions,
the parts interleaved in one process: a plain FTS5 OR query and a plain numpy scan of the same data.
A cold command is a process of its own; indexing is timed beside what it spends inside the embedder.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from report import report

from letopis.llm.connect import Models
from letopis.llm.embedding import BundledEmbedder
from letopis.memory import Memory, open_memory
from letopis.model import terms
from letopis.store.init import init

WORDS = 30_000
QUESTIONS = 40
SIZE = 384


class Given:
    """Vectors that cost nothing: the question's is given, as the design of the measurement asks."""

    identity = "given/384"

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)

    def queries(self, texts: list[str]) -> np.ndarray:
        return self.random.standard_normal((len(texts), SIZE)).astype(np.float32)

    passages = queries


def said(maker: random.Random, words: list[str], weights: list[float]) -> str:
    return " ".join(maker.choices(words, weights, k=25))


def filled(folder: Path, count: int, embedder: Given | None) -> Memory:
    """A workspace whose transcripts hold so many messages, written directly."""
    init(folder)
    kind = {} if embedder else {"embedding__kind": "none"}
    memory = open_memory(folder, models=Models(None, None), embedder=embedder, environ={}, durability="batch", **kind)
    maker, words = random.Random(1), [f"w{n}" for n in range(WORDS)]
    weights = [1 / (n + 10) for n in range(WORDS)]
    for session in range(max(1, count // 500)):
        key = f"bench:{session}"
        memory.append(key, {"role": "user", "content": said(maker, words, weights)})
        path = memory.store.transcripts.live_path(key)
        line = path.read_text("utf-8").splitlines()[1]
        start = line.index('"content": "') + 12
        head, tail = line[:start], line[line.index('", "n": 1,') :]
        with path.open("a", encoding="utf-8") as file:
            for n in range(2, min(500, count) + 1):
                file.write(head + said(maker, words, weights) + tail.replace('"n": 1,', f'"n": {n},') + "\n")
    return memory


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def measured(folder: Path, count: int) -> dict[str, object]:
    memory = filled(folder, count, Given())
    indexing = milliseconds(memory.index.sync)
    memory.index.fill()
    bare = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
    connection = memory.index._opened().connection
    matrix = np.random.default_rng(3).standard_normal((count, SIZE)).astype(np.float32)
    vector = matrix[0].copy()
    maker = random.Random(5)
    questions = [" ".join(f"w{maker.randrange(20, 2000)}" for _ in range(5)) for _ in range(QUESTIONS)]
    first = milliseconds(lambda: memory.search(questions[0]))
    bare.search(questions[0])
    times: dict[str, list[float]] = {"both": [], "words": [], "FTS5": [], "scan": []}
    plain = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 10"
    for question in questions:
        asked = " OR ".join(f'"{t}"' for t in terms.asked(question))
        times["both"].append(milliseconds(lambda q=question: memory.search(q)))
        times["words"].append(milliseconds(lambda q=question: bare.search(q)))
        times["FTS5"].append(milliseconds(lambda a=asked: connection.execute(plain, (a,)).fetchall()))
        times["scan"].append(milliseconds(lambda: np.argpartition(-(matrix @ vector), 10)[:10]))
    medians = {name: statistics.median(values) for name, values in times.items()}
    memory.append("bench:0", {"role": "user", "content": "new word"})
    after = milliseconds(lambda: memory.search(questions[1]))
    return {
        "messages": count,
        "search, ms": medians["both"],
        "words only, ms": medians["words"],
        "plain FTS5, ms": medians["FTS5"],
        "plain scan, ms": medians["scan"],
        "ratio to the slower": medians["both"] / max(medians["FTS5"], medians["scan"]),
        "first search, ms": first,
        "after a new message, ms": after,
        "indexing, ms a message": indexing / count,
        "memory, MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def unchanged(folder: Path) -> dict[str, object]:
    """A sync of 1,000 notes of which none, and one, has changed."""
    init(folder)
    memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none")
    for number in range(1000):
        (folder / f"memory/note{number}.md").write_text(f"# Note {number}\n\nsome words of note {number}\n")
    time.sleep(2.1)
    memory.index.sync()
    none = statistics.median(milliseconds(memory.index.sync) for _ in range(15))
    (folder / "memory/note7.md").write_text("changed words\n")
    return {"files": 1000, "sync, none changed, ms": none, "sync, one changed, ms": milliseconds(memory.index.sync)}


def cold(folder: Path) -> float:
    """`letopis search` by words as its own process, over an index in sync."""
    command = [sys.executable, "-m", "letopis", "search", "w100", "w200", "--set", "embedding.kind=none"]

    def run() -> None:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=os.environ)

    run()
    return statistics.median(milliseconds(run) for _ in range(7))


class Timed(BundledEmbedder):
    """The bundled embedder, and the time that was spent inside it."""

    spent = 0.0

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        start = time.perf_counter()
        made = super().passages(texts)
        self.spent += time.perf_counter() - start
        return made


def indexing(folder: Path, count: int) -> dict[str, object]:
    """Indexing so many messages, words and vectors, beside the embedder alone."""
    embedder = Timed()
    embedder.passages(["warm"])
    embedder.spent = 0.0
    memory = filled(folder, count, embedder)
    whole = milliseconds(lambda: (memory.index.sync(), memory.index.fill())) / 1000
    return {
        "messages": count,
        "embedder alone, s": embedder.spent,
        "indexing, s": whole,
        "own overhead, %": 100 * (whole / embedder.spent - 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--json", action="store_true")
    sizes = [int(size) for size in parser.parse_args().sizes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        files = unchanged(Path(folder) / "files")
        rows = [measured(Path(folder) / str(size), size) for size in sizes]
        if 10_000 in sizes:
            files["cold search of 10,000 messages, ms"] = cold(Path(folder) / "10000")
        files |= indexing(Path(folder) / "index", 400)
        print("  ".join(f"{name}: {value:.2f}" for name, value in files.items()))
    report("latency", rows, files=files)


if __name__ == "__main__":
    main()
