"""Tokens that each model has used, added up from one line a call."""

from dataclasses import dataclass

from letopis.model import jsonl
from letopis.store import files
from letopis.store.workspace import Workspace


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

    def add(self, at: str, model: str, purpose: str, prompt_tokens: int, completion_tokens: int) -> None:
        """Note one call."""
        record = {"at": at, "model": model, "purpose": purpose, "prompt": prompt_tokens}
        files.append(self._path, jsonl.encode({**record, "completion": completion_tokens}), sync=False)

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
