"""Search over the memory. Derived from the store; may be thrown away at any time."""

from letopis.index.scan import search

__all__ = ["search"]
