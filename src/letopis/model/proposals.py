"""What a model proposes, once its form is known to be right; see `payloads` for the form."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of the facts. `source` are numbers of messages; `fact` is an id or the old text."""

    op: str
    text: str = ""
    fact: str = ""
    section: str = ""
    source: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SaveMemory:
    """Changes of the facts: as operations, or as the whole new file."""

    operations: tuple[Operation, ...] = ()
    memory_update: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a closed session."""

    title: str
    summary: str
    slug: str = ""
    decisions: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    key_messages: tuple[int, ...] = ()
