"""The rolling note on an open conversation: what it is about so far.

It is the memory's own from beginning to end, and says so. When the conversation closes it links
the summary and leaves the search.
"""

from collections.abc import Sequence

from letopis.lifecycle.shared import is_shared
from letopis.model import digest, extract, names, turns
from letopis.model.messages import Message
from letopis.model.transcript import Plan, Transcript
from letopis.store import Store

_ITEMS = 10
_LAST = 4


def refresh(store: Store, transcript: Transcript) -> bool:
    """Write the digest anew where enough turns have passed; whether it was written."""
    header, every = transcript.header, store.settings.digest.turns
    if header is None or every <= 0 or is_shared(store, transcript):
        return False
    told = [m for m in transcript.standing() if m.spoken]
    seen = transcript.state.get("digested")
    since = [m for m in told if m.n > (seen if isinstance(seen, int) else 0)]
    if len(turns.split(since)) < every:
        return False
    path = path_of(transcript)
    store.notes.put(path, digest.render(digest.heading(transcript), transcript, *_content(told, transcript)))
    store.transcripts.append_state(header.key, header.session_id, {"digest_path": path, "digested": told[-1].n})
    return True


def path_of(transcript: Transcript) -> str:
    """Where the digest of a session stands."""
    known = transcript.state.get("digest_path")
    if isinstance(known, str) and known.startswith("memory/conversations/"):
        return known
    key = transcript.header.key if transcript.header else "session"
    return f"memory/conversations/{names.slug(key)}--{transcript.session_id[:8]}.md"


def close(store: Store, transcript: Transcript, plan: Plan) -> None:
    """Say in the digest of a closed session where its summary and its archive are."""
    if transcript.state.get("digest_path") is None:
        return
    links = (plan.memory_path or "", plan.transcript_path)
    if is_shared(store, transcript):
        bare = transcript.copy()
        bare.state.pop("folded_summary", None)
        store.notes.put(path_of(transcript), digest.render("", bare, [], [], closed=links))
        return
    told = [m for m in transcript.standing() if m.spoken]
    text = digest.render(digest.heading(transcript), transcript, *_content(told, transcript), closed=links)
    store.notes.put(path_of(transcript), text)


def _content(told: Sequence[Message], transcript: Transcript) -> tuple[list[str], Sequence[Message]]:
    fresh = [m for m in told if m.n > transcript.folded_through]
    return [s.text for s in extract.best(extract.sentences(fresh), _ITEMS)], told[-_LAST:]
