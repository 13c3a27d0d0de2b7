"""Which conversations are shared by several people, and so kept apart from the private memory."""

from fnmatch import fnmatchcase

from letopis.model.transcript import Transcript
from letopis.store import Store


def is_shared_key(store: Store, key: str) -> bool:
    """Whether a key is shared: by a pattern of the settings, or because any of its sessions says so."""
    if _fits(store, key) or store.sessions.closed_shared(key):
        return True
    live = store.sessions.live(key)
    return live is not None and live.shared


def is_shared(store: Store, transcript: Transcript) -> bool:
    """Whether a session is shared: its own word, or that of another session of its key."""
    key = transcript.header.key if transcript.header else ""
    if transcript.shared:
        return True
    if transcript.ended_at is not None:
        return is_shared_key(store, key)
    return _fits(store, key) or store.sessions.closed_shared(key)


def _fits(store: Store, key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in store.settings.session.shared_keys)
