"""`letopis mcp`."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from letopis.cli.app import App, common
from letopis.errors import WorkspaceError
from letopis.server.mcp_config import HOSTS, config

if TYPE_CHECKING:
    from letopis.memory import Memory


@click.command("mcp")
@click.option("--config", "host", type=click.Choice(HOSTS), help="Print what connects this host, and where to put it.")
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine instead of standard input and output.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65_535), help="The port for --http.")
@common
def command(app: App, host: str | None, http: bool, port: int) -> None:
    """Serve the memory to assistants by the Model Context Protocol."""
    folder = app.folder()
    if host is not None:
        text, place = config(host, _command(folder))
        app.show({"status": "ok", "host": host, "place": place, "config": text}, text)
        click.echo(f"Put this into {place}.", err=True)
        return
    if find_spec("mcp") is None:
        raise WorkspaceError("this needs the package `mcp`; install it with: pip install 'letopis[mcp]'")
    memory = app.memory_in(folder)
    worker = memory.worker(lambda outcome: None)
    worker.start()
    try:
        _serve(memory, http, port)
    finally:
        worker.stop()
        memory.flush()


def _serve(memory: "Memory", http: bool, port: int) -> None:
    import anyio

    from letopis.server import mcp_server

    if not http:
        anyio.run(mcp_server.over_stdio, memory)
        return
    import uvicorn

    application = mcp_server.server(memory).streamable_http_app(host="127.0.0.1")
    click.echo(f"MCP on http://127.0.0.1:{port}/mcp (Ctrl-C stops it)", err=True)
    uvicorn.run(application, host="127.0.0.1", port=port, log_level="warning")


def _command(folder: Path) -> list[str]:
    """The command that starts the server, as a host must write it."""
    own = shutil.which("letopis")
    start = [own] if own else [sys.executable, "-m", "letopis"]
    return [*start, "mcp", "--workspace", str(folder.resolve())]
