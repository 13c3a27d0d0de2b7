"""The prompt: which parts of the memory reach the model, in which order, within which bounds."""

from letopis.context.assemble import Prompt, assemble, room

__all__ = ["Prompt", "assemble", "room"]
