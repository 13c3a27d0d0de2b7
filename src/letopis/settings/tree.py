"""The settings there are: their defaults, what is allowed, and who may set them.

Every setting has a default that works. `workspace=False` marks what a workspace's own file may
not set, because the file may come with somebody else's folder.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting accepts, and what it means."""

    about: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    workspace: bool = True
    secret: bool = False


def _set(default: Any, about: str, **rule: Any) -> Any:
    return field(default=default, metadata={"rule": Rule(about, **rule)})


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The language model: any endpoint that speaks the OpenAI chat protocol."""

    name: str = _set("", "name of the model; empty: no model, everything works more simply")
    background: str = _set("", "a cheaper model for summaries and facts; empty: the same model")
    base_url: str = _set("", "address of the endpoint; empty: the openai package's own", workspace=False)
    api_key: str = _set("", "key for the endpoint; local servers need none", workspace=False, secret=True)
    timeout: float = _set(120.0, "seconds to wait for an answer to go on", low=1, high=3600)
    retries: int = _set(2, "how often a busy or failing endpoint is asked again", low=0, high=10)
    max_tokens: int = _set(2048, "tokens that one answer may take", low=64, high=200_000)
    temperature: float = _set(-1.0, "0 is the most predictable; negative: the model's own", low=-1, high=2)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Conversations and when they end."""

    idle_close: float = _set(0.0, "minutes of silence after which a session closes; 0: never", low=0, high=10_000_000)
    shared_keys: tuple[str, ...] = _set((), "patterns of keys that several people share, such as `group:*`")


@dataclass(frozen=True, slots=True)
class SessionMemorySettings:
    """Summaries of closed sessions."""

    enabled: bool = _set(True, "write a summary note when a session closes")
    min_user_messages: int = _set(2, "a session with fewer messages of the user gets no note", low=0)


@dataclass(frozen=True, slots=True)
class MemoryFlushSettings:
    """Daily notes."""

    enabled: bool = _set(True, "write what leaves the prompt into the daily note")


@dataclass(frozen=True, slots=True)
class CompressionSettings:
    """Folding of the oldest turns of a long conversation. Shares are of what the prompt has for the conversation."""

    enabled: bool = _set(True, "fold the oldest turns into a summary instead of dropping them")
    trigger: float = _set(0.75, "the share of the room at which turns are folded", low=0.2, high=1)
    target: float = _set(0.4, "the share that is left when they are folded", low=0.1, high=0.9)


@dataclass(frozen=True, slots=True)
class ConsolidationSettings:
    """When facts are taken from a conversation."""

    tokens: int = _set(4_000, "so many tokens of new turns are consolidated; 0: only at the close", low=0)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The curated facts."""

    max_tokens: int = _set(3_000, "a larger MEMORY.md is tidied; 0: never", low=0)


@dataclass(frozen=True, slots=True)
class DigestSettings:
    """The rolling note on each open conversation."""

    turns: int = _set(5, "it is refreshed after so many turns; 0: never", low=0)


@dataclass(frozen=True, slots=True)
class VectorMemorySettings:
    """Search over the memory."""

    enabled: bool = _set(True, "give the model the tool `memory_search`")
    max_file_bytes: int = _set(8 * 1024 * 1024, "a larger note is not searched", low=1024)
    recency: float = _set(0.0, "how much a hit gains for being new; it halves in 90 days", low=0, high=1)
    diversity: float = _set(0.0, "how much a hit loses for repeating the ones before it", low=0, high=1)


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """What gives text its vector."""

    kind: str = _set("bundled", "where vectors come from", choices=("bundled", "endpoint", "none"))
    model: str = _set("", "name of the embedding model of an endpoint")
    base_url: str = _set("", "address of that endpoint; empty: the openai package's own", workspace=False)
    api_key: str = _set("", "key for that endpoint", workspace=False, secret=True)
    query_prefix: str = _set("", "what that model wants before a question")
    passage_prefix: str = _set("", "what that model wants before a passage")


@dataclass(frozen=True, slots=True)
class ExperienceSettings:
    """Questions answered well, and the lessons of those answered badly."""

    enabled: bool = _set(True, "put lessons and cases that fit beside the user's message")
    answer_at: float = _set(0.85, "the confidence from which no person need look at an answer", low=0, high=1)


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """One question and its answer."""

    max_tool_rounds: int = _set(6, "how many times in a row the model may call tools", low=0, high=50)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process in one workspace."""

    workspace: str = _set("", "folder used where no other is found; empty: ~/letopis", workspace=False)
    timezone: str = _set("", "IANA name such as Europe/Moscow; empty: the machine's")
    durability: str = _set("always", "when a line reaches the disk", choices=("always", "batch"))
    context_window_tokens: int = _set(32_000, "the model's window", low=2_000, high=10_000_000)
    model: ModelSettings = ModelSettings()
    session: SessionSettings = SessionSettings()
    session_memory: SessionMemorySettings = SessionMemorySettings()
    memory_flush: MemoryFlushSettings = MemoryFlushSettings()
    compression: CompressionSettings = CompressionSettings()
    consolidation: ConsolidationSettings = ConsolidationSettings()
    memory: MemorySettings = MemorySettings()
    digest: DigestSettings = DigestSettings()
    vector_memory: VectorMemorySettings = VectorMemorySettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    turn: TurnSettings = TurnSettings()
    experience: ExperienceSettings = ExperienceSettings()


@dataclass(frozen=True, slots=True)
class Known:
    """One setting of the tree, by its dotted name."""

    name: str
    default: Any
    rule: Rule

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "LETOPIS_" + self.name.replace(".", "_").upper()


def known(node: Any = Settings, prefix: str = "") -> Iterator[Known]:
    """Every setting, in the order of the tree."""
    for item in fields(node):
        if is_dataclass(item.default):
            yield from known(item.default, f"{prefix}{item.name}.")
        else:
            yield Known(prefix + item.name, item.default, item.metadata["rule"])
