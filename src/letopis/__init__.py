"""Letopis: the long-term memory of an AI assistant.

from letopis import open_memory

with open_memory("my-workspace") as memory:
    memory.remember("The deadline is on 12 May")
    print(memory.search("deadline").hits[0].text)
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from letopis.memory import Memory, open_memory

__version__ = "0.1.0"
__all__ = ["Memory", "__version__", "open_memory"]


def __getattr__(name: str) -> Any:
    """Import the library itself only when it is used."""
    if name in ("Memory", "open_memory"):
        from letopis import memory

        return getattr(memory, name)
    raise AttributeError(f"module 'letopis' has no attribute {name!r}")
