"""How long the server takes for a page of the library, and what a page weighs, in a large workspace.

    python benchmarks/library.py [--notes 10000] [--sessions 5000] [--json]

Milliseconds are the server's own (Server-Timing), medians of 15 after 3 that are not counted, while
the worker has nothing to do; kilobytes are those of the page with its files. Without embedder.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from proxy import served
from report import report

from letopis.llm.connect import Models
from letopis.llm.scripted_server import ScriptedServer
from letopis.memory import open_memory
from letopis.store.init import init

PAGES = ("/library", "/library/facts", "/library/sessions", "/library/notes", "/library/experience", "/library/profile",
         "/library/context", "/library/chat", "/library/search?q=доставка")  # fmt: skip
RUNS, LEFT_OUT, FACTS = 15, 3, 300


def filled(folder: Path, notes: int, sessions: int) -> None:
    """So many notes, archived sessions, and a few hundred facts."""
    init(folder)
    archive = folder / "sessions" / "archive"
    archive.mkdir(parents=True, exist_ok=True)
    for n in range(notes):
        day = f"{2015 + n // 1000}-{1 + n % 12:02}-{1 + n % 28:02}"
        text = f"# Заметка {n}\n\n## Итог\n\nОбсуждали доставку номер {n} и сроки.\n"
        (folder / "memory" / f"{day}-{n % 2400:04}-zametka-{n}.md").write_text(text, "utf-8")
    with (folder / "sessions" / "_sessions.jsonl").open("a", encoding="utf-8") as index:
        for n in range(sessions):
            day = f"2026-01-{1 + n % 28:02}"
            line = {
                "session_id": f"{n:016x}", "key": f"telegram:{n % 50}", "slug": f"razgovor-{n}",
                "created_at": f"{day}T10:00:00.000+00:00", "updated_at": f"{day}T10:{n % 60:02}:00.000+00:00",
                "ended_at": f"{day}T11:00:00.000+00:00", "message_count": 2,
                "transcript_path": f"sessions/archive/{day}-{n}.jsonl", "memory_path": None,
                "session_index_path": "sessions/_sessions.jsonl", "summary_status": "skipped", "persona": "default",
                "metadata": {},
            }  # fmt: skip
            index.write(json.dumps(line) + "\n")
            told = [{"_type": "archive", "v": 1, **line},
                    {"_type": "session", "v": 1, "session_id": line["session_id"], "key": line["key"],
                     "persona": "default", "created_at": line["created_at"], "metadata": {}},
                    {"role": "user", "content": f"Сколько стоит доставка {n}?", "n": 1, "timestamp": day},
                    {"role": "assistant", "content": f"{n} рублей", "n": 2, "timestamp": day}]  # fmt: skip
            (folder / str(line["transcript_path"])).write_text(
                "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in told), "utf-8"
            )
    memory = open_memory(folder, models=Models(None, None), environ={}, embedding__kind="none", durability="batch")
    for n in range(FACTS):
        memory.remember(f"Факт номер {n} о проекте {n * 7}")
    memory.index.sync()
    memory.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=5_000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ScriptedServer() as upstream:
        folder = Path(name) / "w"
        filled(folder, chosen.notes, chosen.sessions)
        with served(folder, upstream) as url, httpx2.Client(base_url=url.removesuffix("/v1"), timeout=120) as client:
            while client.get("/api/status").json()["worker"] != "waiting":
                time.sleep(0.2)
            rows = [{"page": page, **measured(client, page)} for page in PAGES]
    report("library", rows, notes=chosen.notes, sessions=chosen.sessions)


def measured(client: httpx2.Client, page: str) -> dict[str, float]:
    """Milliseconds of the server, and kilobytes with everything that the page loads."""
    times = []
    for _ in range(RUNS + LEFT_OUT):
        answer = client.get(page, headers={"Accept": "text/html", "Accept-Language": "ru"})
        times.append(float(answer.headers["server-timing"].partition("dur=")[2]))
    files = re.findall(r'(?:src|href)="(/library/static/[^"]+)"', answer.text)
    got = [answer, *(client.get(file) for file in files)]
    weight = sum(one.num_bytes_downloaded for one in got)
    return {"ms": statistics.median(times[LEFT_OUT:]), "kB": weight / 1000}


if __name__ == "__main__":
    sys.exit(main())
