"""A conversation as material for a model: numbered, dated, fenced, and bounded."""

from collections.abc import Sequence
from importlib import resources

from letopis.llm.port import Reply
from letopis.model import names, tokens
from letopis.model.messages import Message
from letopis.model.text import printable, shorten
from letopis.store import Store

_LONGEST_MESSAGE = 6_000


def prompt(name: str) -> str:
    """The text of a prompt of this package."""
    return resources.files("letopis.lifecycle").joinpath("prompts", f"{name}.md").read_text("utf-8")


def rendered(message: Message) -> str:
    """One message as it stands in the material."""
    text = shorten(printable(message.text), _LONGEST_MESSAGE, " … [cut]")
    return f"#{message.n} {message.role} {message.timestamp[:16]}: {text}"


def fenced(messages: Sequence[Message]) -> str:
    """The messages between marks that their text cannot close."""
    body = "\n\n".join(rendered(m) for m in messages).replace("<<<", "‹‹‹").replace(">>>", "›››")
    return f"<<<conversation\n{body}\nconversation>>>"


def newest_within(messages: Sequence[Message], budget: int) -> list[Message]:
    """The newest messages whose material fits the budget of tokens."""
    kept: list[Message] = []
    for message in reversed(messages):
        budget -= tokens.estimate(rendered(message)) + tokens.MESSAGE_OVERHEAD
        if budget < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]


def oldest_within(turns: Sequence[Sequence[Message]], budget: int) -> list[Message]:
    """The oldest whole turns whose material fits the budget; of a turn that alone does not fit, its beginning."""
    kept: list[Message] = []
    for turn in turns:
        cost = sum(map(_cost, turn))
        if cost > budget:
            return kept or _beginning(turn, budget)
        budget -= cost
        kept.extend(turn)
    return kept


def _cost(message: Message) -> int:
    return tokens.estimate(rendered(message)) + tokens.MESSAGE_OVERHEAD if message.spoken else 0


def _beginning(turn: Sequence[Message], budget: int) -> list[Message]:
    """At least one message, and no call without its result."""
    kept: list[Message] = []
    for message in turn:
        budget -= _cost(message)
        if budget < 0 and kept and message.role != "tool":
            break
        kept.append(message)
    return kept


def note_usage(store: Store, purpose: str, model: str, reply: Reply, estimated: int = 0) -> None:
    """Add the tokens of a reply to the workspace's usage."""
    now = names.stamp(store.clock.now())
    store.usage.add(now, model, purpose, reply.prompt_tokens, reply.completion_tokens, estimated)
