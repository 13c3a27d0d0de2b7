"""What a client has edited away or asked for again: marked in the transcript, and no longer the ground of a fact."""

from collections.abc import Sequence

from letopis.model.facts import Document
from letopis.model.journal import Event
from letopis.model.text import content_stems
from letopis.model.transcript import Transcript
from letopis.store import Store
from letopis.store.facts import new_event_id


def supersede(store: Store, transcript: Transcript, key: str, gone: Sequence[int], instead: str) -> None:
    """Mark these messages, given by the numbers that clients have seen, with what belongs to their turns.

    The words stay in the transcript. Where `instead`, the new question, is an edit of the old one, a fact
    that rests on what was edited away alone is taken back, as a journalled change that can be undone.
    """
    ranges = _ranges(transcript, sorted(gone))
    session_id = transcript.session_id
    records = [{"_type": "superseded", "session_id": session_id, "n": [first, last]} for first, last in ranges]
    store.transcripts.append_records(key, session_id, records)
    asked = next((m for m in transcript.messages if m.n in gone and m.role == "user"), None)
    if asked is None or not _is_edit(asked.text, instead):
        return
    now = store.sessions.transcript(session_id, key)
    if any(now.has_superseded(fact.sources) for fact in store.facts.view().facts):
        store.facts.change("person", lambda document: _withdrawn(document, now), session_id)


def _is_edit(old: str, new: str) -> bool:
    """Whether a question is another wording of an old one, and not simply another question."""
    before, after = set(content_stems(old)), set(content_stems(new))
    return len(before & after) * 2 >= min(len(before), len(after)) > 0 and old.strip() != new.strip()


def _withdrawn(document: Document, transcript: Transcript) -> list[Event]:
    gone = [fact for fact in document.facts if transcript.has_superseded(fact.sources)]
    return [Event(new_event_id(), "removed", fact, None, "the message that told it was edited away") for fact in gone]


def _ranges(transcript: Transcript, gone: Sequence[int]) -> list[tuple[int, int]]:
    """The numbers as ranges; what stands unseen between two of them, or after the last answer, goes with them."""
    standing = {message.n for message in transcript.standing() if not message.internal}
    seen = set(gone)
    hidden = {m.n for m in transcript.messages if m.internal or m.stored.get("unseen") is True}
    found: list[tuple[int, int]] = []
    for first in gone:
        last = first
        while last + 1 <= transcript.last_n and (last + 1 in seen or last + 1 in hidden or last + 1 not in standing):
            last += 1
        if found and first <= found[-1][1]:
            continue
        found.append((first, last))
    return found
