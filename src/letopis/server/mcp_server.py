"""The MCP server: the memory's tools, resources and prompts over stdio or HTTP, for any number of hosts at once.

Sync handlers run in threads; nothing but the protocol is written to standard output.
"""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import resources as package
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated

from letopis import __version__, toolbox
from letopis.errors import InvalidInput, LetopisError
from letopis.memory import Memory
from letopis.server import mcp_resources
from letopis.server.crossing import in_thread

_LOG = logging.getLogger("letopis.server")
LOOK_EVERY = 2.0  # seconds between looks at what has changed
PROMPTS = {
    "recall": ("What the memory knows about a topic.", [("topic", "what to find out about")]),
    "wrap_up": ("Keep what later conversations need, and close this one.", []),
}
Handled = Any


class Edge:
    """The handlers over one memory."""

    def __init__(self, memory: Memory, allowed: str = "admin") -> None:
        self.memory, self._allowed = memory, allowed
        self.bus = InMemorySubscriptionBus()
        self._watched: dict[str, set[Any]] = {}

    async def tools(self, ctx: Handled, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Every tool with what it may do."""
        found = await in_thread(toolbox.listed, self.memory, self._allowed)
        return types.ListToolsResult(tools=[_tool(one) for one in found])

    async def call(self, ctx: Handled, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The answer of a tool, as data and as text."""
        answer = await in_thread(toolbox.run, self.memory, params.name, params.arguments or {}, self._allowed)
        text = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace").decode()
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        wrong = answer.get("status") == "error"
        return types.CallToolResult(content=content, structured_content=json.loads(text), is_error=wrong)

    async def resources(self, ctx: Handled, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """A page of what there is to read."""
        try:
            shown, after = await in_thread(mcp_resources.listed, self.memory, params.cursor if params else None)
        except InvalidInput as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        found = [
            types.Resource(uri=one.uri, name=one.name, description=one.description, mime_type=one.kind) for one in shown
        ]
        return types.ListResourcesResult(resources=found, next_cursor=after)

    async def templates(self, ctx: Handled, params: Any) -> types.ListResourceTemplatesResult:
        """How the addresses of notes and conversations are formed."""
        note = types.ResourceTemplate(
            uri_template=mcp_resources.NOTE, name="note", description="A note of the memory.", mime_type="text/markdown"
        )
        about = "A conversation, word for word; ?start=N goes on from message N."
        session = types.ResourceTemplate(
            uri_template=mcp_resources.SESSION, name="session", description=about, mime_type="text/plain"
        )
        return types.ListResourceTemplatesResult(resource_templates=[note, session])

    async def read(self, ctx: Handled, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """The text at an address."""
        try:
            text, kind = await in_thread(mcp_resources.read, self.memory, str(params.uri))
        except InvalidInput as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": str(params.uri)}) from None
        except LetopisError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from None
        content = types.TextResourceContents(uri=params.uri, text=text, mime_type=kind)
        return types.ReadResourceResult(contents=[content])

    async def subscribe(self, ctx: Handled, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Notices of one resource, for hosts that ask the older way."""
        uri = str(params.uri)
        if uri not in await self.stamps():
            raise MCPError(types.INVALID_PARAMS, f"there is nothing at {uri[:200]!r} to be told of")
        self._watched.setdefault(uri, set()).add(ctx.session)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Handled, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """No more notices."""
        watching = self._watched.get(str(params.uri), set())
        watching.discard(ctx.session)
        if not watching:
            self._watched.pop(str(params.uri), None)
        return types.EmptyResult()

    async def prompts(self, ctx: Handled, params: Any) -> types.ListPromptsResult:
        """The prompts by name."""
        found = [
            types.Prompt(
                name=name, description=about,
                arguments=[types.PromptArgument(name=n, description=d, required=True) for n, d in arguments],
            )
            for name, (about, arguments) in PROMPTS.items()
        ]  # fmt: skip
        return types.ListPromptsResult(prompts=found)

    async def prompt(self, ctx: Handled, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """A prompt with its arguments filled in."""
        if params.name not in PROMPTS:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name!r}; there are: {', '.join(PROMPTS)}")
        about, wanted = PROMPTS[params.name]
        given = params.arguments or {}
        missing = [name for name, _ in wanted if not str(given.get(name) or "").strip()]
        if missing:
            raise MCPError(types.INVALID_PARAMS, f"the prompt {params.name} wants {', '.join(missing)}")
        text = package.files("letopis.server").joinpath("prompts", f"{params.name}.md").read_text("utf-8")
        for name, _ in wanted:
            text = text.replace(f"{{{name}}}", str(given[name]))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=about, messages=[message])

    async def stamps(self) -> Mapping[str, str]:
        """What tells that a resource has changed."""
        return await in_thread(mcp_resources.stamps, self.memory)

    async def watch(self, before: Mapping[str, str]) -> None:
        """Tell the hosts what has changed since these stamps, whoever changed it."""
        while True:
            await anyio.sleep(LOOK_EVERY)
            try:
                now = await self.stamps()
            except Exception:  # noqa: BLE001 (it must go on looking)
                _LOG.exception("the resources could not be looked at")  # the next look may be able to
                continue
            if now.keys() != before.keys():
                await self.bus.publish(ResourcesListChanged())
            for uri in (uri for uri in now if now[uri] != before.get(uri, now[uri])):
                await self._tell(uri)
            before = now

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for session in list(self._watched.get(uri, ())):
            try:
                await session.send_resource_updated(uri)
            except Exception:  # noqa: BLE001 (a host that is gone hinders no other)
                self._watched[uri].discard(session)


def _tool(one: toolbox.Listed) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=not one.writes, destructive_hint=one.destroys, idempotent_hint=not one.writes,
        open_world_hint=False,
    )  # fmt: skip
    return types.Tool(
        name=one.name,
        description=one.description,
        input_schema=dict(one.schema),
        output_schema=toolbox.OUTPUT,
        annotations=hints,
    )


def server(memory: Memory, allowed: str = "admin") -> Server[Mapping[str, Any]]:
    """The server over one memory, with the tools that a scope (read, write, admin) allows."""
    edge = Edge(memory, allowed)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[Mapping[str, Any]]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(edge.watch, await edge.stamps())
            yield {}
            tasks.cancel_scope.cancel()

    return Server(
        "letopis",
        version=__version__,
        title="Letopis",
        instructions=toolbox.INSTRUCTIONS,
        lifespan=lifespan,
        get_tool_input_schema=lambda name: next((t.schema for t in toolbox.listed(memory) if t.name == name), None),
        on_list_tools=edge.tools,
        on_call_tool=edge.call,
        on_list_resources=edge.resources,
        on_list_resource_templates=edge.templates,
        on_read_resource=edge.read,
        on_subscribe_resource=edge.subscribe,
        on_unsubscribe_resource=edge.unsubscribe,
        on_subscriptions_listen=ListenHandler(edge.bus),
        on_list_prompts=edge.prompts,
        on_get_prompt=edge.prompt,
    )


async def over_stdio(memory: Memory) -> None:
    """Serve one host on standard input and output until it leaves."""
    made = server(memory)
    async with stdio_server() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())
