"""`letopis consolidate`."""

import click

from letopis.cli.app import App, common
from letopis.errors import WorkspaceError
from letopis.lifecycle import backlog


@click.command("consolidate")
@click.option("--redo", is_flag=True, help="Take ranges again that were only kept in the raw archive.")
@click.option("--imported", is_flag=True, help="Imported sessions: show what they would cost; --yes takes them.")
@click.option("--yes", is_flag=True, help="With --imported: do it.")
@common
def command(app: App, redo: bool, imported: bool, yes: bool) -> None:
    """Take the facts of everything that no model has seen yet, and make missing summaries.

    Ctrl-C stops between ranges, and the next run goes on there.
    """
    memory = app.memory()
    model = memory.models.background
    chosen = backlog.waiting(memory.store, imported, redo)
    size = sum(one.tokens for one in chosen)
    summaries = sum(one.summary for one in chosen)
    plan = {"sessions": len(chosen), "tokens": size, "summaries": summaries}
    told = f"{len(chosen)} sessions with about {size} tokens to read, {summaries} of them without a summary"
    if not chosen:
        app.show({"status": "empty", **plan}, "Nothing waits: facts were taken from everything.")
        return
    if imported and not yes:
        app.show({"status": "plan", **plan}, f"{told}.\n`letopis consolidate --imported --yes` takes them.")
        return
    if model is None:
        raise WorkspaceError("no model is configured, and facts are taken by one; `letopis config` shows how to set it")
    if not app.json:
        click.echo(f"{told}.", err=True)
    failed = False
    try:
        for at, taken in enumerate(backlog.take(memory.store, model, chosen), 1):
            failed = failed or bool(taken.problem)
            _show(app, taken, f"{at} of {len(chosen)}")
    except KeyboardInterrupt:
        click.echo("\nstopped; the next run goes on from here", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def _show(app: App, taken: backlog.Taken, lead: str) -> None:
    record = {
        "event": "consolidated",
        "status": "error" if taken.problem else "ok",
        "session_id": taken.line.session_id,
        "changes": taken.changes,
        "note": taken.note,
        "problem": taken.problem,
    }
    text = f"{lead}: {taken.line.session_id}: {taken.changes} changes of the facts"
    text += f", summary {taken.note}" if taken.note else ""
    app.show(record, text + (f"\n  {taken.problem}" if taken.problem else ""))
