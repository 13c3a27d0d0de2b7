"""`letopis library`."""

import webbrowser

import click

from letopis.cli.app import App, common
from letopis.cli.serve import check_packages, run


@click.command("library")
@click.option("--port", default=8766, show_default=True, type=click.IntRange(1, 65_535), help="The port to listen on.")
@click.option("--no-browser", is_flag=True, help="Only say the address; open nothing.")
@common
def command(app: App, port: int, no_browser: bool) -> None:
    """Open the memory library in the browser: see what is remembered, and correct it."""
    check_packages()
    from letopis.server.workspaces import Workspaces

    def opened(address: str) -> None:
        if not no_browser:
            webbrowser.open(f"{address}/library")

    run(Workspaces(app.folder(), app.memory_in), "127.0.0.1", port, started=opened)
