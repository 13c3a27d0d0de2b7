"""What the proxy adds to an answer: to its first word, to each piece, and how many answers a second it gives.

    python benchmarks/proxy.py [--messages 10000] [--json]

The upstream is a scripted server on this machine. Beside the proxy of the memory: the same server
passing requests through without memory, and the upstream asked directly. Without query embedding.
"""

import argparse
import contextlib
import json
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import uvicorn
from report import report

from letopis.llm.connect import Models
from letopis.llm.scripted_server import ScriptedServer
from letopis.memory import Memory, open_memory
from letopis.server.app import application
from letopis.server.guard import Limits
from letopis.server.workspaces import Workspaces
from letopis.store.init import init

PIECES, RUNS = 200, 30


@contextlib.contextmanager
def served(folder: Path, upstream: ScriptedServer) -> Iterator[str]:
    """The server over a workspace; its worker has no model, so that only answers are measured."""

    def opened(path: Path) -> Memory:
        memory = open_memory(
            path, environ={}, embedding__kind="none", durability="batch", experience__enabled=False,
            model__base_url=upstream.url, model__name="t", model__api_key="x",
        )  # fmt: skip
        memory.models = Models(memory.models.chat, None)
        return memory

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    workspaces = Workspaces(folder, opened)
    app = application(workspaces, limits=Limits(per_minute=10**9, at_once=1_000))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{port}/v1"
    server.should_exit = True
    thread.join(20)


def filled(folder: Path, key: str, count: int) -> None:
    """A session of so many messages, and as much done of it as a worker does."""
    memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none", durability="batch")
    for n in range(count // 2):
        memory.append(key, {"role": "user", "content": f"Вопрос номер {n} о деталях проекта и сроках поставки"})
        memory.append(key, {"role": "assistant", "content": f"Ответ номер {n}: всё идёт по плану, сроки прежние"})
    for _ in range(3):
        memory.work()
    memory.flush()


def streamed(client: httpx2.Client, url: str, key: str, number: int, memory: str = "on") -> tuple[float, float]:
    """Milliseconds to the first word, and from one piece to the next."""
    body = {"model": "t", "stream": True, "messages": [{"role": "user", "content": f"Ещё вопрос {number}"}]}
    headers = {"X-Letopis-Session": key, "X-Letopis-Memory": memory}
    start, first, count, last = time.perf_counter(), 0.0, 0, 0.0
    with client.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: {") and json.loads(line[6:])["choices"]:
                delta = json.loads(line[6:])["choices"][0]["delta"]
                if delta.get("content"):
                    last = time.perf_counter()
                    first = first or last
                    count += 1
    return (first - start) * 1000, (last - first) * 1000 / max(1, count - 1)


def rate(url: str, keys: list[str], memory: str, seconds: float = 4.0) -> float:
    """Whole answers a second by eight clients at once, without an error."""
    deadline, done = time.perf_counter() + seconds, [0]

    def asks(number: int) -> None:
        with httpx2.Client(timeout=30) as client:
            while time.perf_counter() < deadline:
                key = keys[(number + done[0]) % len(keys)]
                body = {"model": "t", "messages": [{"role": "user", "content": f"Вопрос {number} {done[0]}"}]}
                headers = {"X-Letopis-Session": key, "X-Letopis-Memory": memory}
                client.post(f"{url}/chat/completions", json=body, headers=headers).raise_for_status()
                done[0] += 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(asks, range(8)))
    return done[0] / seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ScriptedServer(otherwise="слово " * PIECES) as upstream:
        folder = Path(name) / "w"
        init(folder)
        filled(folder, "proxy:long", chosen.messages)
        for n in range(20):
            filled(folder, f"proxy:short{n}", 100)
        with served(folder, upstream) as url, httpx2.Client(timeout=60) as client:
            ways = {"upstream alone": (upstream.url, "off"), "passed through": (url, "off"), "with memory": (url, "on")}
            times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
            for number in range(RUNS + 3):
                for way, (address, memory) in ways.items():
                    times[way].append(streamed(client, address, "long", number, memory))
            upstream.otherwise = "Короткий ответ."
            rates = {
                way: rate(address, [f"short{n}" for n in range(20)], memory) for way, (address, memory) in ways.items()
            }
    rows = []
    for way, own in times.items():
        first, piece = (statistics.median(one[at] for one in own[3:]) for at in (0, 1))
        rows.append({"way": way, "to the first word, ms": first, "a piece, ms": piece, "answers a second": rates[way]})
    report("proxy", rows, messages=chosen.messages)


if __name__ == "__main__":
    sys.exit(main())
