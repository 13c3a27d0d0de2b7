"""`letopis worker`."""

import time

import click

from letopis.cli.app import App, common
from letopis.cli.finishing import show_outcome


@click.command("worker")
@click.option("--once", is_flag=True, help="Do what there is to do and stop.")
@common
def command(app: App, once: bool) -> None:
    """Close idle conversations and archive closed ones, until Ctrl-C."""
    from letopis.lifecycle.worker import PAUSE

    memory = app.memory()
    worker = memory.worker(lambda outcome: show_outcome(app, outcome))
    if once:
        waiting = len(memory.store.sessions.closing())
        worker.once()
        if not waiting:
            app.show({"event": "idle", "status": "ok"}, "There was nothing to archive.")
        return
    if not app.json:
        click.echo(f"Working on {memory.store.workspace.root}; Ctrl-C stops.", err=True)
    worker.start()
    try:
        while True:
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        worker.stop()
