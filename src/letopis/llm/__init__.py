"""The language model behind one small port, and how structured answers are had from it."""

from letopis.llm.connect import connect
from letopis.llm.port import ChatModel, Reply, Request, ToolCall, ToolSpec

__all__ = ["ChatModel", "Reply", "Request", "ToolCall", "ToolSpec", "connect"]
