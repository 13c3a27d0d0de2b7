"""`letopis init`."""

from pathlib import Path

import click

from letopis.cli.app import App, common


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@common
def command(app: App, folder: Path) -> None:
    """Make DIR (default: this folder) a workspace.

    Files that are there already are left as they are.
    """
    from letopis.store.init import init

    workspace, made = init(folder)
    lines = [f"{workspace.root} is a workspace.", *(f"  made {name}" for name in made)]
    lines.append("Say who you are in USER.md, then: letopis chat")
    app.show({"status": "ok", "workspace": str(workspace.root), "made": made}, "\n".join(lines))
