"""`letopis vector-memory`."""

from dataclasses import asdict

import click

from letopis.cli.app import App, common
from letopis.errors import WorkspaceError
from letopis.index.compact import Plan


@click.group("vector-memory")
@common
def command(app: App) -> None:
    """Look at the index file, and make it small again."""


@command.command()
@common
def status(app: App) -> None:
    """What the index holds, what it lacks, and which model made its vectors."""
    found = app.memory().index.status()
    lines = [
        f"files     {found.files}",
        f"units     {found.units} messages and blocks, in {found.pieces} pieces",
        f"vectors   {found.pieces - found.without_vector} of {found.pieces} pieces",
        f"embedder  {found.embedder or 'none here: search goes by words'}",
    ]
    if found.made_with and found.made_with != found.embedder:
        lines.append(f"made with {found.made_with}; `letopis index --rebuild` makes the vectors anew")
    lines += [f"note: {problem}" for problem in found.problems]
    app.show({"status": "ok", **asdict(found)}, "\n".join(lines))


@command.command()
@click.option("--yes", is_flag=True, help="Do it; without this only the plan is shown.")
@common
def compact(app: App, yes: bool) -> None:
    """Rewrite the index file with its live rows only.

    The safe order: stop the other programs that use the workspace, look at the plan, run it with
    --yes, check a search, and then remove the backup. Until the backup is removed the disk has no
    more room than before.
    """
    from letopis.index import compact as compacting

    memory = app.memory()
    path, lock = memory.index.path, memory.index.lock_path
    if not path.exists():
        raise WorkspaceError(f"there is no index at {path} yet; `letopis index` makes it")
    if not yes:
        planned = compacting.plan(path)
        app.show({"status": "plan", **asdict(planned)}, "\n".join([*_told(planned), "Run it with --yes."]))
        return
    done = compacting.compact(path, lock, lambda step: None if app.json else click.echo(f"{step} …", err=True))
    text = [
        f"{done.plan.size:,} bytes before, {done.size:,} now.",
        f"The old file is kept as memory/{done.backup}; the disk has room again when you remove it.",
    ]
    app.show({"status": "ok", **asdict(done)}, "\n".join(text))


def _told(planned: Plan) -> list[str]:
    return [
        f"memory/{planned.path}: {planned.size:,} bytes, {planned.free_pages} free pages",
        f"keeps   {planned.units} units, {planned.pieces} pieces, {planned.vectors} vectors",
        f"drops   {planned.unused_vectors} vectors of text that is gone, {planned.empty_vectors} empty ones",
        "The old file stays beside the new one as a dated backup, so the disk use falls only when you remove it.",
    ]
