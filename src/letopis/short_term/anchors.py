"""Places anchors as a conversation goes on: lines of its transcript with the exact data said since the last."""

from letopis.model import anchoring, names
from letopis.model.anchoring import Anchor
from letopis.model.transcript import Transcript
from letopis.store import Store


def place(store: Store, transcript: Transcript) -> Anchor | None:
    """Place an anchor where one is due; None where it is not."""
    header = transcript.header
    last = transcript.anchors[-1].last if transcript.anchors else 0
    told = [m for m in transcript.standing() if not m.internal]
    pending = [m for m in told if m.n > last]
    if header is None or not pending:
        return None
    reason = anchoring.due(pending, [m for m in told if m.n <= last and m.spoken], transcript.anchors)
    if not reason:
        return None
    data = tuple(dict.fromkeys(anchoring.items(pending)))
    anchor = Anchor(anchoring.topic(pending), data, last + 1, pending[-1].n, reason)
    record = anchor.record(header.session_id, names.stamp(store.clock.now()))
    store.transcripts.append_records(header.key, header.session_id, [record])
    return anchor
