"""A LangGraph store over a workspace: what a graph keeps are notes that a person can read and search.

    from letopis.adapters.langgraph import MemoryStore

    graph = builder.compile(store=MemoryStore(memory))

The item `plan` in the namespace `("users", "42")` is the note `memory/notes/graph/users/42/plan.md`:
a JSON object that says when it was made and changed, and the value. Searching by words is the memory's own.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from operator import eq, ge, gt, le, lt, ne
from typing import Any
from urllib.parse import quote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from letopis.errors import FactRefused, InvalidInput
from letopis.memory import Memory
from letopis.model import secrets
from letopis.store.kept_notes import KeptNotes

_FOLDER = "graph"
_NOTES = "memory/notes/"
_LONGEST = 120  # bytes of a part of a path; a longer one is cut and told apart by its hash
_EVERY = 100_000
_COMPARED = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class MemoryStore(BaseStore):
    """Items are notes. Nothing expires; what is replaced or removed is kept among the backups."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        store = memory.store
        self._notes = KeptNotes(store.workspace, store.locks, store.clock)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in their order."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        validate_op_namespace(op)
        match op:
            case GetOp():
                return self._read(_name(op.namespace, op.key))
            case PutOp():
                self._put(op)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
        raise InvalidInput(f"the store has no operation {type(op).__name__}")

    def _put(self, op: PutOp) -> None:
        name = _name(op.namespace, op.key)
        if op.value is None:
            self._notes.remove(name, folder=False)
            return
        now = self._memory.store.clock.now().isoformat()
        before = self._standing(name)
        created = before[0].created_at.isoformat() if before else now
        record: dict[str, Any] = {"namespace": op.namespace, "key": op.key, "created_at": created, "updated_at": now}
        if op.index is False:
            record["searched"] = False
        try:
            text = json.dumps({**record, "value": dict(op.value)}, ensure_ascii=False, indent=1)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"the value of {op.key!r} cannot be written as JSON: {error}") from None
        if secrets.holds_secret(text):
            raise FactRefused(f"the value of {op.key!r} holds a password, key or token, which are never kept in notes")
        self._notes.write(name, text + "\n")

    def _read(self, name: str) -> Item | None:
        found = self._kept(name)
        return found[0] if found is not None else None

    def _kept(self, name: str) -> tuple[Item, bool] | None:
        """The item of a note, and whether a search may find it."""
        text = self._notes.read(name)
        if text is None:
            return None
        try:
            record = json.loads(text)
            item = Item(
                value=dict(record["value"]),
                key=str(record["key"]),
                namespace=tuple(record["namespace"]),
                created_at=datetime.fromisoformat(record["created_at"]),
                updated_at=datetime.fromisoformat(record["updated_at"]),
            )
            return item, record.get("searched") is not False
        except (ValueError, KeyError, TypeError):
            raise InvalidInput(f"the note {name} is not an item any more: put it right by hand, or remove it") from None

    def _standing(self, name: str) -> tuple[Item, bool] | None:
        """The same; one that is broken is passed over."""
        try:
            return self._kept(name)
        except InvalidInput:
            return None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        chosen = self._found(op.query, op.namespace_prefix) if op.query else self._newest(op.namespace_prefix)
        fitting = [one for one in chosen if _fits(one.value, op.filter or {})]
        return fitting[op.offset : op.offset + op.limit]

    def _newest(self, prefix: tuple[str, ...]) -> list[SearchItem]:
        found = [_scored(item, None) for item in self._items(prefix)]
        return sorted(found, key=lambda item: item.updated_at, reverse=True)

    def _found(self, query: str, prefix: tuple[str, ...]) -> list[SearchItem]:
        found: dict[str, SearchItem] = {}
        for hit in self._memory.search(query, scope="notes", k=_EVERY, path=_NOTES + _below(prefix)).hits:
            name = hit.path.removeprefix(_NOTES).removesuffix(".md")
            kept = self._standing(name) if name not in found else None
            if kept is not None and kept[1]:
                found[name] = _scored(kept[0], hit.score)
        return list(found.values())

    def _items(self, prefix: tuple[str, ...]) -> Iterator[Item]:
        below = _below(prefix)
        for name in self._notes.names():
            kept = self._standing(name) if name.startswith(below) else None
            if kept is not None:
                yield kept[0]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        every = {item.namespace for item in self._items(())}
        fitting = {one for one in every if all(_matches(one, condition) for condition in op.match_conditions or ())}
        cut = sorted({one[: op.max_depth] for one in fitting})
        return cut[op.offset : op.offset + op.limit]


def _scored(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _name(namespace: tuple[str, ...], key: str) -> str:
    return "/".join([_FOLDER, *map(_part, namespace), _part(key)])


def _below(prefix: tuple[str, ...]) -> str:
    return "/".join([_FOLDER, *map(_part, prefix)]) + "/"


def _part(text: str) -> str:
    """A name of a file that no other text has: letters of any language stay as they are."""
    plain = "".join(c if c.isalnum() or c in " -_@" else _quoted(c) for c in text)
    if plain == text.strip() and text and len(plain.encode()) <= _LONGEST:
        return plain
    cut = plain.encode()[:_LONGEST].decode("utf-8", "ignore")
    return f"{cut}%{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _quoted(character: str) -> str:
    return "%2E" if character == "." else quote(character, safe="", errors="surrogatepass")


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_compares(value.get(name), condition) for name, condition in wanted.items())


def _compares(value: Any, condition: Any) -> bool:
    if isinstance(condition, list | tuple):
        alike = isinstance(value, list | tuple) and len(value) == len(condition)
        return alike and all(_compares(a, b) for a, b in zip(value, condition, strict=True))
    if not isinstance(condition, Mapping):
        return bool(value == condition)
    if not any(str(name).startswith("$") for name in condition):
        return isinstance(value, Mapping) and _fits(value, condition)
    for name, other in condition.items():
        if name not in _COMPARED:
            raise InvalidInput(f"there is no comparison {name!r}; there are: {', '.join(_COMPARED)}")
        try:
            ordered = name not in ("$eq", "$ne")
            if not _COMPARED[name](*((float(value), float(other)) if ordered else (value, other))):
                return False
        except (TypeError, ValueError):  # no numbers
            return False
    return True


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", one) for wanted, one in zip(path, part, strict=True))
