"""`letopis index`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from letopis.cli.app import App, common
from letopis.errors import WorkspaceError

if TYPE_CHECKING:
    from letopis.index import Index


@click.command("index")
@click.option("--rebuild", is_flag=True, help="Make the index anew from the files; vectors of the same model are kept.")
@click.option("--no-vectors", is_flag=True, help="Index the words only.")
@click.option("--watch", is_flag=True, help="Stay, and take in every change as it comes; Ctrl-C ends it.")
@common
def command(app: App, rebuild: bool, no_vectors: bool, watch: bool) -> None:
    """Bring the search index up to date, words and vectors.

    A search does this for words by itself. Ctrl-C stops between batches, and the next run goes on.
    """
    memory = app.memory()
    changes = _changes(memory.store.workspace.root) if watch else iter(())
    shown = _brought_up_to_date(app, memory.index, rebuild, no_vectors, None)
    for _ in changes:
        shown = _brought_up_to_date(app, memory.index, False, no_vectors, shown)


def _changes(root: Path) -> Iterator[object]:
    """Something each time a searched file has changed, and each second, for what changed unseen; ends with Ctrl-C."""
    try:
        import watchfiles
    except ImportError:
        raise WorkspaceError("--watch needs the package watchfiles; `pip install 'letopis[watch]'` adds it") from None

    def searched(change: watchfiles.Change, path: str) -> bool:
        hidden = any(part.startswith(".") for part in Path(path).relative_to(root).parts)
        return path.endswith((".md", ".jsonl")) and not hidden

    return watchfiles.watch(
        root, watch_filter=searched, raise_interrupt=False, rust_timeout=1_000, yield_on_timeout=True
    )


def _brought_up_to_date(
    app: App, index: Index, rebuild: bool, no_vectors: bool, shown: dict[str, object] | None
) -> dict[str, object]:
    """Sync and fill, and say what there is now where that was not shown yet."""
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
    record: dict[str, object] = {
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
    if record != shown:
        app.show(record, text)
    return record


def _progress(app: App, done: int, total: int) -> None:
    if not app.json:
        click.echo(f"\rvectors: {done} of {total}", nl=done == total, err=True)
