"""`goal_set` and `goal_done`: what the user is trying to get done in this conversation."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from letopis.model.goals import Goal
from letopis.short_term.goals import end_goal, open_goal
from letopis.tools.registry import Tool, ToolContext


class SetArguments(BaseModel):
    """The goal."""

    model_config = ConfigDict(extra="ignore")

    goal: str = Field(description="what the user wants to get done, one short sentence in the user's language")


class DoneArguments(BaseModel):
    """Which goal has ended, and how."""

    model_config = ConfigDict(extra="ignore")

    goal: str = Field(description="the id of an open goal, or words that only it has")
    dropped: bool = Field(False, description="true where the user gave it up instead of reaching it")


def record_of(goal: Goal) -> dict[str, Any]:
    """A goal as tools and `--json` give it."""
    return {"id": goal.id, "goal": goal.text, "state": goal.state, "opened": goal.opened, "n": goal.n}


def _set(context: ToolContext, arguments: SetArguments) -> Mapping[str, Any]:
    transcript = context.store.sessions.transcript(context.session_id, context.key)
    return {"status": "ok", "goal": record_of(open_goal(context.store, transcript, arguments.goal, context.n))}


def _done(context: ToolContext, arguments: DoneArguments) -> Mapping[str, Any]:
    transcript = context.store.sessions.transcript(context.session_id, context.key)
    ended = end_goal(context.store, transcript, arguments.goal, context.n, arguments.dropped)
    return {"status": "ok", "goal": record_of(ended)}


SET = Tool(
    "goal_set",
    "Note what the user is trying to get done in this conversation, when it becomes clear and takes several turns. "
    "Open goals stay in sight until they are done. Noting one again says that it moves on.",
    SetArguments,
    _set,
    writes=True,
    here=True,
)
DONE = Tool(
    "goal_done",
    "Note that an open goal of this conversation is reached, or was given up by the user.",
    DoneArguments,
    _done,
    writes=True,
    here=True,
)
