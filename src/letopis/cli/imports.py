"""`letopis import`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from letopis.cli.app import App, common
from letopis.errors import LetopisError

if TYPE_CHECKING:
    from letopis.lifecycle.importing import Outcome

_paths = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))


@click.group("import")
@common
def command(app: App) -> None:
    """Bring in conversations of other programs, as archived sessions with their own times.

    Repeating an import adds nothing; a source that has grown adds what is new.
    """


@command.command()
@_paths
@common
def openai(app: App, paths: tuple[Path, ...]) -> None:
    """JSONL or JSON of chat messages."""
    _bring_in(app, "openai", paths)


@command.command()
@_paths
@common
def nanobot(app: App, paths: tuple[Path, ...]) -> None:
    """Session files whose first line is a metadata object, or folders of them."""
    _bring_in(app, "nanobot", paths)


def _bring_in(app: App, kind: str, paths: tuple[Path, ...]) -> None:
    from letopis.lifecycle.importing import import_file

    memory = app.memory()
    failed = False
    for file in _files(app, kind, paths):
        try:
            for outcome in import_file(memory.store, kind, file):
                _show(app, outcome)
        except LetopisError as error:
            failed = True
            app.show({"event": "failed", "source": str(file), "error": str(error)}, f"{file}: {error}")
    if failed:
        raise click.exceptions.Exit(1)


def _files(app: App, kind: str, paths: tuple[Path, ...]) -> list[Path]:
    from letopis.lifecycle.importing import files_of

    return [file for path in paths for file in files_of(kind, path)]


def _show(app: App, outcome: "Outcome") -> None:
    session = outcome.line.session_id if outcome.line else None
    made = f"{outcome.added} messages → session {session}" if session else "nothing new"
    lines = [f"{outcome.source}: {made} ({outcome.known} known)", *(f"  {p}" for p in outcome.problems)]
    counts = {"added": outcome.added, "known": outcome.known, "problems": list(outcome.problems)}
    app.show({"event": "imported", "source": outcome.source, "session_id": session, **counts}, "\n".join(lines))
