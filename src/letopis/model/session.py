"""One session as a list shows it, and as its line in the session index says it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

STATUSES = ("done", "raw", "skipped", "disabled", "pending")


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A line of `_sessions.jsonl`. Paths are relative to the workspace."""

    session_id: str
    key: str
    slug: str
    created_at: str
    updated_at: str
    ended_at: str
    message_count: int
    transcript_path: str
    memory_path: str | None
    session_index_path: str
    summary_status: str
    persona: str
    metadata: Mapping[str, Any]

    def record(self) -> dict[str, Any]:
        """The line as an object."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def state(self) -> str:
        """Where the session is in its life: live, closing or archived."""
        if self.transcript_path.startswith("sessions/archive/"):
            return "archived"
        return "closing" if self.transcript_path.startswith("sessions/closing/") else "live"


def parse(record: Mapping[str, Any]) -> SessionLine | None:
    """The session on a line of the index or in the header of an archive; None if it is none."""
    texts = {}
    for name in ("session_id", "key", "transcript_path"):
        value = record.get(name)
        if not isinstance(value, str) or not value:
            return None
        texts[name] = value
    for name in ("slug", "created_at", "updated_at", "ended_at", "session_index_path"):
        value = record.get(name)
        texts[name] = value if isinstance(value, str) else ""
    count, metadata = record.get("message_count"), record.get("metadata")
    status, persona, memory = record.get("summary_status"), record.get("persona"), record.get("memory_path")
    return SessionLine(
        **texts,
        message_count=count if isinstance(count, int) and not isinstance(count, bool) else 0,
        memory_path=memory if isinstance(memory, str) and memory else None,
        summary_status=status if status in STATUSES else "pending",
        persona=persona if isinstance(persona, str) and persona else "default",
        metadata=metadata if isinstance(metadata, Mapping) else {},
    )
