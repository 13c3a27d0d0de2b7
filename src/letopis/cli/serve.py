"""`letopis serve`."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from letopis.cli.app import App, common
from letopis.errors import WorkspaceError

if TYPE_CHECKING:
    import uvicorn

    from letopis.server.workspaces import Workspaces

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8766, show_default=True, type=click.IntRange(0, 65_535), help="The port to listen on.")
@click.option("--root", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="Serve every workspace below DIR, each to its own keys.")  # fmt: skip
@click.option("--allow-host", multiple=True, metavar="NAME", help="A host name that the server answers for.")
@common
def command(app: App, host: str, port: int, root: Path | None, allow_host: tuple[str, ...]) -> None:
    """Serve the memory over HTTP: pages (/library), the API, MCP (/mcp), and a proxy for clients (base URL …/v1)."""
    check_packages()
    from letopis.server.workspaces import Workspaces

    workspaces = Workspaces(root or app.folder(), app.memory_in, several=root is not None)
    if not workspaces.keys() and (host not in LOOPBACK or root is not None):
        where = "several workspaces are" if root is not None else f"the address {host} is"
        raise WorkspaceError(f"{where} served to keys only; make one with `letopis keys add NAME`")
    run(workspaces, host, port, (*allow_host, *(() if host in LOOPBACK else (host,))))


def check_packages() -> None:
    """Raises WorkspaceError where the server's packages are not installed."""
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "jinja2", "markdown_it")):
        raise WorkspaceError("this needs more packages; install them with: pip install 'letopis[server]'")


def run(
    workspaces: "Workspaces",
    host: str,
    port: int,
    hosts: tuple[str, ...] = (),
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until it is stopped; `started` is told the address when the server answers there."""
    import uvicorn

    from letopis.server.app import application

    _check_free(host, port)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    click.echo(f"Letopis on {address} (pages: /library, API: /api, MCP: /mcp, proxy: /v1; Ctrl-C stops it)", err=True)
    server: uvicorn.Server
    app = application(workspaces, hosts, stopping=lambda: server.should_exit)
    server = uvicorn.Server(
        uvicorn.Config(
            app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=30,
            server_header=False,
        )
    )  # fmt: skip
    if started is not None:
        threading.Thread(target=_tell_when_it_answers, args=(server, address, started), daemon=True).start()
    try:
        server.run()
    finally:
        workspaces.close()


def _check_free(host: str, port: int) -> None:
    """Raises WorkspaceError where somebody listens already, or the address is not one of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        raise WorkspaceError(f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port") from None


def _tell_when_it_answers(server: "uvicorn.Server", address: str, started: Callable[[str], None]) -> None:
    while not server.started:
        if server.should_exit:
            return
        time.sleep(0.05)
    started(address)
