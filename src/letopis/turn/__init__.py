"""One question and its answer, from the message on disk to the reply on disk."""

from letopis.turn.events import Done, Event, Failed, Handed, TextDelta, ToolDone, ToolStarted
from letopis.turn.run import WAIT_FOR_TURN, Outside, resume, stream

__all__ = [
    "WAIT_FOR_TURN",
    "Done",
    "Event",
    "Failed",
    "Handed",
    "Outside",
    "TextDelta",
    "ToolDone",
    "ToolStarted",
    "resume",
    "stream",
]
