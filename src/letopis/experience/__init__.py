"""Experience across sessions: questions answered well, and the lessons of those answered badly."""

from letopis.experience.desk import Desk, desk_of

__all__ = ["Desk", "desk_of"]
