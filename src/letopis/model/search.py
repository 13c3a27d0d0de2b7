"""What a search is asked and what it answers; down is never the same as empty."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("fact", "archived", "summary", "raw", "daily", "digest", "note", "message", "case", "lesson")
SCOPES = ("notes", "transcripts", "experience", "all")


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the memory. Dates are `YYYY-MM-DD`, both ends included.

    `within` is the key that a shared conversation is held to: nothing of another key is seen.
    `path` is a note, or with `/` at its end every note below a folder.
    `exclude` is the source (`session_id#n`) of the question itself, which answers nothing.
    """

    text: str
    scope: str = "notes"
    k: int = 10
    key: str | None = None
    session_id: str | None = None
    since: str | None = None
    until: str | None = None
    within: str | None = None
    exclude: str | None = None
    kind: str | None = None
    path: str | None = None
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found: a block of a note by its lines, or a message by session and number."""

    text: str
    kind: str
    score: float
    matched: tuple[str, ...]
    date: str
    path: str = ""
    lines: tuple[int, int] = (0, 0)
    heading: str = ""
    session_id: str = ""
    n: int = 0
    role: str = ""
    key: str = ""
    superseded: bool = False
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Where it stands: `path:first-last` or `session_id#n`."""
        if self.session_id and self.n:
            return f"{self.session_id}#{self.n}"
        return f"{self.path}:{self.lines[0]}-{self.lines[1]}"

    def record(self) -> dict[str, Any]:
        """The hit as a tool and `--json` give it."""
        out: dict[str, Any] = {"source": self.source, "kind": self.kind, "date": self.date, "text": self.text}
        out |= {"score": round(self.score, 4), "matched_by": list(self.matched)}
        for name in ("heading", "role", "key"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        if self.superseded:
            out["superseded"] = True
        return out


@dataclass(frozen=True, slots=True)
class Found:
    """The answer. `status` is ok, empty, degraded or error; `relaxed` says not all words fit."""

    status: str
    hits: tuple[Hit, ...] = ()
    total: int = 0
    relaxed: bool = False
    problems: tuple[str, ...] = field(default=())

    def record(self) -> Mapping[str, Any]:
        """The answer as a tool and `--json` give it."""
        out: dict[str, Any] = {"status": self.status, "showing": len(self.hits), "total": self.total}
        out["relaxed"] = self.relaxed
        out["hits"] = [hit.record() for hit in self.hits]
        if self.problems:
            out["problems"] = list(self.problems)
        return out
