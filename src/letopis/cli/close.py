"""`letopis close`."""

import click

from letopis.cli.app import App, common
from letopis.cli.finishing import finish


@click.command("close")
@click.argument("key", default="cli:local")
@click.option("--no-wait", is_flag=True, help="Leave the rest to the worker.")
@common
def command(app: App, key: str, no_wait: bool) -> None:
    """Close the conversation under KEY (default: cli:local) and archive it.

    It is closed at once. Ctrl-C leaves the rest (facts, summary, archive) in the queue.
    """
    memory = app.memory()
    session_id = memory.close(key)
    if session_id is None:
        app.show({"status": "empty", "key": key}, f"Nothing was said under {key!r}; there is nothing to close.")
    elif no_wait:
        app.show({"status": "queued", "session_id": session_id}, f"Closed {session_id}; the rest is in the queue.")
    if not no_wait:
        finish(app, memory)
