"""The keys that open a workspace to other programs: kept as hashes, so the file opens nothing."""

import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from letopis.errors import InvalidInput
from letopis.model import jsonl, names
from letopis.settings import Clock
from letopis.store import files
from letopis.store.workspace import Workspace

SCOPES = ("read", "write", "admin")
_PREFIX = "letopis_"


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is known: its id, what it is for and what it allows; `hash` is that of the key itself."""

    id: str
    name: str
    scope: str
    created: str
    hash: str


class Keys:
    """The keys of one workspace."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self._path, self._clock = workspace.internal / "keys.jsonl", clock
        self._read: tuple[tuple[int, int], dict[str, Key]] = ((0, 0), {})

    def add(self, name: str, scope: str) -> tuple[Key, str]:
        """Make a key; the text of it is told this once and kept nowhere. Raises InvalidInput."""
        if scope not in SCOPES:
            raise InvalidInput(f"the scope of a key is one of {', '.join(SCOPES)}, not {scope!r}")
        if not name.strip():
            raise InvalidInput("a key needs a name that says what it is for")
        text = _PREFIX + secrets.token_urlsafe(32)
        key = Key("k" + secrets.token_hex(4), name, scope, names.stamp(self._clock.now()), hash_of(text))
        record = {"id": key.id, "name": name, "scope": scope, "created": key.created, "hash": key.hash}
        files.append(self._path, jsonl.encode(record))
        return key, text

    def revoke(self, id_: str) -> Key:
        """Close what a key opened, at once. Raises InvalidInput."""
        known = next((key for key in self.all() if key.id == id_), None)
        if known is None:
            raise InvalidInput(f"there is no key {id_!r}; `letopis keys list` shows those there are")
        files.append(self._path, jsonl.encode({"revoked": id_, "at": names.stamp(self._clock.now())}))
        return known

    def guard(self) -> bool:
        """Whether a key was ever made here: then nobody is let in without one, be the file damaged or all revoked."""
        try:
            return os.stat(self._path).st_size > 0
        except FileNotFoundError:
            return False

    def all(self) -> list[Key]:
        """The keys that open something, oldest first."""
        return list(self.by_hash().values())

    def by_hash(self) -> dict[str, Key]:
        """The same by the hash of their text; the file is read again when it has changed."""
        try:
            stat = os.stat(self._path)
        except FileNotFoundError:
            return {}
        stamp = (stat.st_size, stat.st_mtime_ns)
        if self._read[0] != stamp:
            self._read = (stamp, {key.hash: key for key in self._standing()})
        return self._read[1]

    def _standing(self) -> Iterator[Key]:
        found: dict[str, Key] = {}
        for line in jsonl.lines(files.read(self._path) or b""):
            record = line.record if isinstance(line, jsonl.GoodLine) else {}
            if isinstance(record.get("revoked"), str):
                found.pop(record["revoked"], None)
            texts = [record.get(n) for n in ("id", "name", "scope", "created", "hash")]
            id_, name, scope, created, digest = (t if isinstance(t, str) else "" for t in texts)
            if id_ and digest and scope in SCOPES:
                found[id_] = Key(id_, name, scope, created, digest)
        yield from found.values()


def allows(scope: str, needed: str) -> bool:
    """Whether a scope opens what needs another."""
    return SCOPES.index(scope) >= SCOPES.index(needed)


def hash_of(text: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
