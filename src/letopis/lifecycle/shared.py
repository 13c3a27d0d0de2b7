"""Which conversations are shared by several people, and so kept apart from the private memory."""

from fnmatch import fnmatchcase

from letopis.model.transcript import Transcript
from letopis.store import Store


def is_shared_key(store: Store, key: str) -> bool:
    """Whether a key is shared: by a pattern of the settings, or because its live session says so."""
    if any(fnmatchcase(key, pattern) for pattern in store.settings.session.shared_keys):
        return True
    live = store.sessions.live(key)
    return live is not None and live.shared


def is_shared(store: Store, transcript: Transcript) -> bool:
    """Whether a session is shared."""
    key = transcript.header.key if transcript.header else ""
    return transcript.shared or any(fnmatchcase(key, p) for p in store.settings.session.shared_keys)
