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
    from letopis.lifecycle.worker import PAUSE, Outcome

    memory = app.memory()
    seen: list[Outcome] = []

    def done(outcome: Outcome) -> None:
        seen.append(outcome)
        show_outcome(app, outcome, in_full=True)

    worker = memory.worker(done)
    if once:
        worker.once()
        if not seen:
            app.show({"event": "idle", "status": "ok"}, "There was nothing to do.")
        return
    if not app.json:
        click.echo(f"Working on {memory.store.workspace.root}; Ctrl-C stops.", err=True)
    worker.start()
    try:
        while True:
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        worker.stop()
