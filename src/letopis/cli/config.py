"""`letopis config`."""

import os

import click

from letopis.cli.app import App, common
from letopis.errors import WorkspaceError


@click.command("config")
@common
def command(app: App) -> None:
    """Every setting, its value and where it comes from. Keys are masked."""
    from letopis.settings import load
    from letopis.settings.load import user_file
    from letopis.settings.tree import known

    try:
        folder = app.folder()
    except WorkspaceError:
        if app.workspace:
            raise
        folder = None
    origins = load(folder, os.environ, app.flags).origins
    rows = []
    for item in known():
        origin = origins[item.name]
        value = "***" if item.rule.secret and origin.value else origin.value
        value = list(value) if isinstance(value, tuple) else value
        rows.append({"name": item.name, "value": value, "from": origin.place, "about": item.rule.about})
    lines = [f"{r['name']:34} {r['value']!r:24} {r['from']}\n    {r['about']}" for r in rows]
    lines.append(f"\nYour own settings: {user_file(os.environ)}")
    lines.append(f"Workspace: {folder}" if folder else "No workspace found.")
    app.show({"status": "ok", "workspace": str(folder) if folder else None, "settings": rows}, "\n".join(lines))
