"""Who is let in without a key in each request: a browser that has shown one has a random session in a cookie."""

import secrets
import threading
import time
from collections import OrderedDict

from starlette.requests import cookie_parser

from letopis.server.workspaces import Visitor, Workspaces
from letopis.store.keys import hash_of

COOKIE = "letopis"
IDLE = 12 * 3600.0  # seconds without a request, after which the key is asked for again
_MOST = 1_000


class Doors:
    """The open sessions of browsers. They live as long as the server, and end with the key that opened them."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._guard = threading.Lock()
        self._open: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def enter(self, key: str) -> str | None:
        """A new session for whoever has this key; None where it opens nothing."""
        digest = hash_of(key.strip())
        if self._workspaces.of_hash(digest) is None:
            return None
        token = secrets.token_urlsafe(32)
        with self._guard:
            self._open[hash_of(token)] = (digest, time.monotonic())
            while len(self._open) > _MOST:
                self._open.popitem(last=False)
        return token

    def visitor(self, cookies: str) -> Visitor | None:
        """Whose session a Cookie header carries."""
        mark = hash_of(token_in(cookies))
        with self._guard:
            digest, last = self._open.pop(mark, ("", 0.0))
            if not digest or time.monotonic() - last > IDLE:
                return None
            self._open[mark] = (digest, time.monotonic())
        return self._workspaces.of_hash(digest)

    def leave(self, cookies: str) -> None:
        """End a session."""
        with self._guard:
            self._open.pop(hash_of(token_in(cookies)), None)


def token_in(cookies: str) -> str:
    """The token of the session in a Cookie header; empty where there is none."""
    return cookie_parser(cookies).get(COOKIE, "")
