"""`letopis demo`: two short conversations, in Russian and English, through their whole life."""

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from letopis.cli.app import App, common
from letopis.cli.finishing import finish
from letopis.store.init import init

if TYPE_CHECKING:
    from letopis.memory import Memory

CONVERSATIONS = (
    (
        "demo:ru",
        (
            "Привет! Запомни, что встречи лучше ставить после 11:00.",
            "Мы выбрали подрядчика: замена окон обойдётся в 148 500 рублей, срок — 12 мая.",
            "Что я говорил о встречах?",
        ),
    ),
    (
        "demo:en",
        (
            "Hi! Remember that the report is due on 5 June.",
            "The draft of the report lies in docs/report-v2.md.",
            "What do you know about the report?",
        ),
    ),
)


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave the workspace in place.")
@common
def command(app: App, keep: bool) -> None:
    """Play two conversations in a temporary workspace and show the files that came of them."""
    folder = Path(tempfile.mkdtemp(prefix="letopis-demo-"))
    try:
        init(folder)
        memory = app.memory_in(folder)
        for key, said in CONVERSATIONS:
            _play(app, memory, key, said)
        _play(app, memory, "demo:next", ("Когда мне ставить встречи?",))
        _show_files(app, memory)
    finally:
        if not keep:
            shutil.rmtree(folder)
    if keep:
        app.show({"event": "kept", "workspace": str(folder)}, f"\nThe workspace stays at {folder}")


def _play(app: App, memory: "Memory", key: str, said: tuple[str, ...]) -> None:
    app.show({"event": "conversation", "key": key}, click.style(f"\n━━ {key}", bold=True))
    for text in said:
        outcome = memory.turn(key, text)
        answer = getattr(outcome, "text", None) or f"error: {getattr(outcome, 'error', '')}"
        app.show({"event": "turn", "key": key, "said": text, "answer": answer}, f"› {text}\n{answer}\n")
    if key != "demo:next":
        memory.close(key)
        finish(app, memory)


_LAYERS = (
    ("curated facts, in every prompt", "memory/MEMORY.md"),
    ("notes on the closed sessions", "memory/*-*-*-*-*.md"),
    ("live transcript", "sessions/*--*.jsonl"),
    ("archived transcripts, word for word", "sessions/archive/*.jsonl"),
    ("index of the closed sessions", "sessions/_sessions.jsonl"),
    ("journal of every change of the facts", ".letopis/facts.jsonl"),
)


def _show_files(app: App, memory: "Memory") -> None:
    root = memory.store.workspace.root
    for what, pattern in _LAYERS:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            text = path.read_text("utf-8")
            shown = text if len(text) < 1500 else text[:1500].rstrip() + " …"
            app.show({"event": "file", "layer": what, "path": name, "text": text},
                     f"{click.style(f'━━ {name}', bold=True)}  ({what})\n{shown}\n")  # fmt: skip
