"""Turns: a user message and all that answers it. Windows are cut between them only."""

from collections.abc import Iterable, Sequence
from typing import Any

from letopis.model.messages import Message, for_model, valid_calls

Turn = tuple[Message, ...]


def split(messages: Iterable[Message]) -> list[Turn]:
    """The turns of a history; what stands before the first user message is a turn of its own."""
    turns: list[list[Message]] = []
    for message in messages:
        if begins(message) or not turns:
            turns.append([])
        turns[-1].append(message)
    return [tuple(turn) for turn in turns]


def begins(message: Message) -> bool:
    """Whether a turn begins with this message: one of the user, and not a look-up's answer."""
    return message.role == "user" and not message.internal


def leaving(costs: Sequence[int], trigger: int, target: int) -> int:
    """How many of the oldest turns, by their tokens, leave a window that holds more than `trigger`.

    So many that the rest is within `target`; the newest turn never leaves, however large it is.
    """
    left = sum(costs)
    if left <= trigger:
        return 0
    count = 0
    while count < len(costs) - 1 and left > target:
        left -= costs[count]
        count += 1
    return count


def last_spoken(messages: Iterable[Message], count: int) -> list[Message]:
    """The last messages that may be summarised: service messages are dropped first."""
    spoken = [m for m in messages if m.spoken and m.text.strip()]
    return spoken[-count:] if count > 0 else []


def for_provider(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as a provider accepts them.

    A call without its result and a result without its call are left out, and nothing else is:
    an orphan never takes its neighbours with it.
    """
    out: list[dict[str, Any]] = []
    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        if message.internal or message.role in ("tool", "function"):
            continue
        calls = {call["id"]: call for call in valid_calls(message)} if message.role == "assistant" else {}
        results: dict[str, dict[str, Any]] = {}
        while calls and at < len(messages) and messages[at].role == "tool":
            shaped = for_model(messages[at])
            if shaped and shaped["tool_call_id"] in calls:
                results.setdefault(shaped["tool_call_id"], shaped)
            at += 1
        out.extend(_with_results(message, calls, results))
    return out


def _with_results(
    message: Message, calls: dict[str, dict[str, Any]], results: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    shaped = for_model(message)
    if shaped is None:
        return []
    if calls:
        kept = [call for id_, call in calls.items() if id_ in results]
        shaped.pop("tool_calls")
        if kept:
            shaped["tool_calls"] = kept
        elif not shaped["content"]:
            return []
    return [shaped, *(results[id_] for id_ in calls if id_ in results)]
