"""MCP over HTTP inside the whole server: every key reaches its own workspace, and the tools that its scope allows."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from letopis.server import mcp_server
from letopis.server.guard import Receive, Scope, Send

_LOG = logging.getLogger("letopis.server")

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class Mounted:
    """One MCP server for each workspace and scope, made when it is first asked for."""

    def __init__(self) -> None:
        self._managers: dict[tuple[str, str], StreamableHTTPSessionManager] = {}
        self._making = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve as long as the context lasts; hosts that still listen are cut off at its end."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the guard has let through."""
        state = scope["state"]
        manager = await self._manager(state["visitor"].workspace, state["visitor"].scope, state["opened"].memory)
        await manager.handle_request(scope, receive, send)

    async def _manager(self, name: str, allowed: str, memory: Any) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        async with self._making:
            manager = self._managers.get((name, allowed))
            if manager is None:
                assert self._tasks is not None
                # the guard has checked the names of hosts and origins
                manager = StreamableHTTPSessionManager(mcp_server.server(memory, allowed))
                self._managers[(name, allowed)] = manager
                await self._tasks.start(self._run, (name, allowed), manager)
            return manager

    async def _run(
        self, key: tuple[str, str], manager: "StreamableHTTPSessionManager", *, task_status: anyio.abc.TaskStatus[None]
    ) -> None:
        """Keep one server running; its end is the end of no other, and the next request makes it anew."""
        try:
            async with manager.run():
                task_status.started()
                await anyio.sleep_forever()
        except Exception:  # noqa: BLE001 (one that ends must not end the others)
            _LOG.exception("an MCP server ended")
        finally:
            self._managers.pop(key, None)
