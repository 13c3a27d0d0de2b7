"""The memory's tools for a pydantic-ai agent.

from letopis.adapters.pydantic_ai import MemoryToolset

agent = Agent(model, toolsets=[MemoryToolset(memory)])
"""

import json
from typing import Any

import anyio.to_thread
from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_ai.toolsets.external import TOOL_SCHEMA_VALIDATOR

from letopis import toolbox
from letopis.memory import Memory

_RETRIES = 2


class MemoryToolset(AbstractToolset[Any]):
    """Every tool that an MCP host has, named and described alike."""

    def __init__(self, memory: Memory, id: str = "letopis") -> None:
        self._memory, self._id = memory, id

    @property
    def id(self) -> str:
        """The name of the toolset within an agent."""
        return self._id

    async def get_instructions(self, ctx: RunContext[Any]) -> str:
        """When to read and when to keep; nothing of what is remembered."""
        return toolbox.INSTRUCTIONS

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools by name."""
        found = await anyio.to_thread.run_sync(toolbox.listed, self._memory)
        return {one.name: self._tool(one) for one in found}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The answer of a tool, as data; what is wrong with a call stands in it for the model to mend."""
        answer = await anyio.to_thread.run_sync(toolbox.run, self._memory, name, tool_args)
        return json.loads(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))

    def _tool(self, one: toolbox.Listed) -> ToolsetTool[Any]:
        told = ToolDefinition(name=one.name, description=one.description, parameters_json_schema=dict(one.schema))
        return ToolsetTool(toolset=self, tool_def=told, max_retries=_RETRIES, args_validator=TOOL_SCHEMA_VALIDATOR)
