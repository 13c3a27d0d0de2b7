"""`letopis index`."""

import click

from letopis.cli.app import App, common


@click.command("index")
@click.option("--rebuild", is_flag=True, help="Make the index anew from the files; vectors of the same model are kept.")
@click.option("--no-vectors", is_flag=True, help="Index the words only.")
@common
def command(app: App, rebuild: bool, no_vectors: bool) -> None:
    """Bring the search index up to date, words and vectors.

    A search does this for words by itself. Ctrl-C stops between batches, and the next run goes on.
    """
    index = app.memory().index
    report = index.rebuild() if rebuild else index.sync()
    for problem in report.problems:
        click.echo(f"note: {problem}", err=True)
    made = 0
    if not no_vectors:
        try:
            made = index.fill(lambda done, total: _progress(app, done, total))
        except KeyboardInterrupt:
            click.echo("\nstopped; the next run goes on from here", err=True)
    status = index.status()
    record = {
        "status": "ok" if not report.problems else "degraded",
        "files": status.files,
        "units": status.units,
        "pieces": status.pieces,
        "without_vector": status.without_vector,
        "vectors_made": made,
        "problems": list(report.problems),
    }
    text = f"{status.files} files, {status.units} messages and blocks, {status.pieces} pieces; {made} vectors made"
    text += f", {status.without_vector} pieces without one" if status.without_vector else ""
    app.show(record, text)


def _progress(app: App, done: int, total: int) -> None:
    if not app.json:
        click.echo(f"\rvectors: {done} of {total}", nl=done == total, err=True)
