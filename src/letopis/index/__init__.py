"""Search over the memory. Derived from the store; may be thrown away at any time."""

from letopis.index.engine import Index, Status

__all__ = ["Index", "Status"]
