"""The newest whole turns of a conversation within a budget: from the index, or else from the transcript."""

from letopis.errors import SearchError
from letopis.index import Index
from letopis.model import windows
from letopis.model.messages import Message
from letopis.model.transcript import Transcript
from letopis.store import Store


def tail(store: Store, index: Index, session_id: str, budget: int) -> list[Message]:
    """The longest suffix of whole turns within a budget of tokens, in order; the newest turn is always there.

    While compression is on it begins at the earliest after what is folded. Raises SessionNotFound.
    """
    transcript = store.sessions.transcript(session_id)
    after = transcript.folded_through if store.settings.compression.enabled else 0
    rows = None
    if transcript.ended_at is None:
        try:
            rows = index.tail(session_id, after, budget)
        except SearchError:
            pass  # the transcript gives the same answer
    if rows is None:
        rows = windows.fitting(windows.rows(_backwards(transcript, after)), budget)
    found = (transcript.message(row.n) for row in rows)
    return [message for message in found if message is not None]


def _backwards(transcript: Transcript, after: int) -> list[Message]:
    return transcript.standing(after)[::-1]
