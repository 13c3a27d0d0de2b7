"""One question and its answer, from the message on disk to the reply on disk."""

from letopis.turn.events import Done, Event, Failed, TextDelta, ToolDone, ToolStarted
from letopis.turn.run import stream

__all__ = ["Done", "Event", "Failed", "TextDelta", "ToolDone", "ToolStarted", "stream"]
