"""A real server on loopback for tests: uvicorn in a thread, on a free port."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from letopis.llm.connect import Models
from letopis.llm.scripted_server import ScriptedServer
from letopis.memory import Memory, open_memory
from letopis.server.app import application
from letopis.server.guard import Limits
from letopis.server.workspaces import Workspaces


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application while it is served."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 10
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(15)


def opener(upstream: ScriptedServer | None, **flags: Any) -> Any:
    """Opens a workspace whose model is a scripted server."""
    model = {"model__base_url": upstream.url, "model__name": "t", "model__api_key": "x"} if upstream else {}

    def opened(folder: Path) -> Memory:
        memory = open_memory(folder, environ={}, embedding__kind="none", model__retries=0, **model, **flags)
        memory.models = Models(memory.models.chat, None)  # the script is for answers alone
        return memory

    return opened


@contextmanager
def memory_server(
    folder: Path,
    upstream: ScriptedServer | None = None,
    several: bool = False,
    limits: Limits | None = None,
    **flags: Any,
) -> Iterator[str]:
    """The address of the whole server over a workspace, or over all below a folder."""
    workspaces = Workspaces(folder, opener(upstream, **flags), several)
    with serving(application(workspaces, limits=limits)) as url:
        yield url
