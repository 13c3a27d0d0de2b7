"""The tools that a model may call: each reads or changes the memory and answers with a status."""

from letopis.tools.registry import Tool, ToolContext, available, call

__all__ = ["Tool", "ToolContext", "available", "call"]
