"""Save points: the thread of a conversation as it was at a message, rebuilt from the nearest anchor before it."""

from dataclasses import dataclass

from letopis.errors import SessionNotFound
from letopis.index import Index
from letopis.model import thread, windows
from letopis.model.messages import Message
from letopis.model.thread import Thread
from letopis.short_term.lookup import look_up
from letopis.store import Store

_LOOKED_WITHIN = 2_000


@dataclass(frozen=True, slots=True)
class Restored:
    """The thread at a message, and the words from its anchor to there that fit the budget."""

    session_id: str
    thread: Thread
    messages: tuple[Message, ...]
    left_out: int

    def text(self) -> str:
        """It all, as a person or a model reads it."""
        kept = self.thread.text()
        anchor = self.thread.anchor
        lead = f"Anchor at #{anchor.last} ({anchor.reason}): {anchor.topic}" if anchor else "No anchor before this."
        said = "\n".join(f"#{m.n} {m.role}: {m.text}" for m in self.messages if m.text)
        missing = f"({self.left_out} messages between are not shown)" if self.left_out else ""
        return "\n\n".join(filter(None, [lead, kept, missing, said]))


def restore(store: Store, index: Index, session_id: str, at: int | str, budget: int) -> Restored:
    """The thread at message number `at`, or at the newest message that holds these words.

    Raises SessionNotFound where there is no such session or message.
    """
    transcript = store.sessions.transcript(session_id)
    n = at if isinstance(at, int) else _number_of(store, index, session_id, at)
    if not 1 <= n <= transcript.last_n:
        raise SessionNotFound(f"session {session_id} has messages #1 to #{transcript.last_n}, and none #{n}")
    found = thread.at(transcript, n)
    since = [m for m in transcript.standing(found.resumes - 1, n) if not m.internal] if found.resumes <= n else []
    rows = windows.fitting(windows.rows(since[::-1]), budget)
    kept = tuple(since[len(since) - len(rows) :])
    return Restored(session_id, found, kept, len(since) - len(kept))


def _number_of(store: Store, index: Index, session_id: str, words: str) -> int:
    bare = words.strip().lstrip("#")
    if bare.isdecimal():
        return int(bare)
    found = look_up(store, index, session_id, words, _LOOKED_WITHIN, 1 << 62)
    if not found.lines:
        raise SessionNotFound(f"nothing in session {session_id} holds {words!r}; give a message number or other words")
    return int(found.lines[0].source.lstrip("#"))
