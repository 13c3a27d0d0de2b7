"""Short-term memory: exact look-ups inside one conversation."""

from letopis.short_term.lookup import Looked, look_up

__all__ = ["Looked", "look_up"]
