"""Tokens that each model has used, added up from one line a call."""

from collections import deque
from dataclasses import dataclass

from letopis.model import jsonl
from letopis.store import files
from letopis.store.workspace import Workspace

_LATELY = 20_000  # bytes of the log
_ENOUGH = 3


@dataclass(slots=True)
class Usage:
    """Calls of one model for one purpose, and the tokens they took."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class UsageLog:
    """The usage of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.internal / "usage.jsonl"
        self._reported: dict[str, deque[tuple[int, int]]] = {}
        self._read = False

    def add(
        self, at: str, model: str, purpose: str, prompt_tokens: int, completion_tokens: int, estimated: int = 0
    ) -> None:
        """Note one call; `estimated` is what its prompt was thought to take, where that is known."""
        record = {"at": at, "model": model, "purpose": purpose, "prompt": prompt_tokens}
        record |= {"completion": completion_tokens} | ({"estimated": estimated} if estimated else {})
        files.append(self._path, jsonl.encode(record), sync=False)
        self._learn(record)

    def correction(self, model: str) -> float:
        """What the estimate of a prompt is to be multiplied by, from what this model reported lately; at least 1."""
        if not self._read:
            self._read = True
            for line in jsonl.lines((files.read(self._path) or b"")[-_LATELY:]):
                if isinstance(line, jsonl.GoodLine):
                    self._learn(line.record)
        pairs = self._reported.get(model, ())
        estimated = sum(pair[0] for pair in pairs)
        if len(pairs) < _ENOUGH or not estimated:
            return 1.0
        return min(2.0, max(1.0, sum(pair[1] for pair in pairs) / estimated))

    def _learn(self, record: dict[str, object]) -> None:
        estimated, reported = _count(record.get("estimated")), _count(record.get("prompt"))
        if estimated > 0 and reported > 0:
            self._reported.setdefault(str(record.get("model")), deque(maxlen=20)).append((estimated, reported))

    def totals(self) -> dict[tuple[str, str], Usage]:
        """The usage by model and purpose."""
        out: dict[tuple[str, str], Usage] = {}
        for line in jsonl.lines(files.read(self._path) or b""):
            if isinstance(line, jsonl.GoodLine):
                record = line.record
                total = out.setdefault((str(record.get("model")), str(record.get("purpose"))), Usage())
                total.calls += 1
                total.prompt_tokens += _count(record.get("prompt"))
                total.completion_tokens += _count(record.get("completion"))
        return out


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
