"""Which of the newest messages fit a budget of tokens: whole turns, from the newest backwards.

The same rule over the messages of a transcript and over the rows of the index.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from letopis.model import tokens, turns
from letopis.model.messages import Message, for_model


@dataclass(frozen=True, slots=True)
class Row:
    """A message as it counts in a window; `begins`: a turn begins with it."""

    n: int
    role: str
    tokens: int
    time: str
    begins: bool


def rows(messages: Iterable[Message]) -> Iterator[Row]:
    """The rows of the messages that a model may see again."""
    for message in messages:
        if not message.internal:
            shaped = for_model(message)
            cost = tokens.of_message(shaped) if shaped is not None else 0
            yield Row(message.n, message.role, cost, message.timestamp, turns.begins(message))


def fitting(newest_first: Iterable[Row], budget: int) -> Sequence[Row]:
    """The longest suffix of whole turns within the budget, oldest first.

    The newest turn is always there, however large it is; what stands before the first turn is one
    of its own.
    """
    kept: list[Row] = []
    turn: list[Row] = []
    for row in newest_first:
        turn.append(row)
        if row.begins:
            budget -= sum(r.tokens for r in turn)
            if budget < 0 and kept:
                return kept[::-1]
            kept += turn
            turn = []
            if budget < 0:
                return kept[::-1]
    if turn and (not kept or sum(r.tokens for r in turn) <= budget):
        kept += turn
    return kept[::-1]
