"""`letopis doctor`."""

import os

import click

from letopis.cli.app import App, common


@click.command("doctor")
@click.option("--repair", "mend", is_flag=True, help="Mend what can be mended; replaced bytes are kept.")
@common
def command(app: App, mend: bool) -> None:
    """Find damaged lines, broken links, missing index lines, unfinished closings."""
    from letopis import checks
    from letopis.llm import connect
    from letopis.settings import SystemClock, load
    from letopis.store import open_store

    folder = app.folder()
    settings = load(folder, os.environ, app.flags).settings
    store, models = open_store(folder, settings, SystemClock(settings.timezone)), connect(settings)
    if not mend:
        findings = checks.examine(store, models)
        records = [{"where": f.where, "what": f.what, "repair": f.remedy, "mendable": bool(f.mend)} for f in findings]
        lines = [f"{f.where}: {f.what}\n  {'--repair ' if f.mend else ''}{f.remedy}" for f in findings]
        text = "\n".join(lines) or "Everything is in order."
        app.show({"status": "ok" if not findings else "findings", "findings": records}, text)
        raise click.exceptions.Exit(1 if findings else 0)
    outcomes, left = checks.repair(store, models)
    record = {
        "status": "ok" if not left else "findings",
        "mended": [{"where": f.where, "what": f.what, "outcome": outcome} for f, outcome in outcomes],
        "left": [{"where": f.where, "what": f.what, "repair": f.remedy} for f in left],
    }
    lines = [f"{f.where}: {f.what}\n  {outcome}" for f, outcome in outcomes]
    lines += [f"{f.where}: {f.what}\n  left as it is: {f.remedy}" for f in left] or ["Everything is in order."]
    app.show(record, "\n".join(lines))
    raise click.exceptions.Exit(1 if left else 0)
