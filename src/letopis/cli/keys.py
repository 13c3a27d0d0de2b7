"""`letopis keys`: what opens the workspace to other programs."""

import click

from letopis.cli.app import App, common
from letopis.store.keys import SCOPES, Keys


@click.group("keys")
@common
def command(app: App) -> None:
    """Keys that open this workspace to programs that speak to `letopis serve`."""


def _keys(app: App) -> Keys:
    memory = app.memory()
    return Keys(memory.store.workspace, memory.store.clock)


@command.command()
@click.argument("name")
@click.option("--scope", type=click.Choice(SCOPES), default="write", show_default=True, help="What it allows.")
@common
def add(app: App, name: str, scope: str) -> None:
    """Make a key; it is shown this once."""
    key, text = _keys(app).add(name, scope)
    record = {"status": "ok", "id": key.id, "name": key.name, "scope": key.scope, "key": text}
    app.show(record, f"{text}\n{key.id} · {key.name} · {key.scope}. Keep it now: it is not shown again.")


@command.command(name="list")
@common
def list_(app: App) -> None:
    """The keys there are."""
    found = _keys(app).all()
    records = [{"id": k.id, "name": k.name, "scope": k.scope, "created": k.created} for k in found]
    lines = [f"{k.id}  {k.scope:5}  {k.created[:10]}  {k.name}" for k in found]
    app.show({"status": "ok", "keys": records}, "\n".join(lines) or "No keys; `letopis keys add NAME` makes one.")


@command.command()
@click.argument("key")
@common
def revoke(app: App, key: str) -> None:
    """Close what a KEY (its id) opened, at once."""
    keys = _keys(app)
    gone = keys.revoke(key)
    last = (
        "" if keys.all() else "\nNo key is left, and nobody is let in without one; `letopis keys add NAME` makes one."
    )
    app.show({"status": "ok", "id": gone.id}, f"Revoked: {gone.id} · {gone.name}{last}")
