"""What every request passes: names and origins, keys and scopes, the form and size of bodies, how much at once.

No web page can reach the memory: a request from another origin, for another host name, or with a
body that is not JSON is refused before it is read.
"""

import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import anyio

from letopis.errors import LetopisError
from letopis.server.crossing import in_thread
from letopis.server.doors import Doors
from letopis.server.problems import encoded, problem, status_of
from letopis.server.workspaces import Opened, Visitor, Workspaces
from letopis.store.keys import allows

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OPEN = ("/health", "/ready")
MCP = "/mcp"
UNDOABLE = "/api/facts/"  # what is removed there can be taken back
PAGES, ENTER, LEAVE, STATIC = "/library", "/library/enter", "/library/leave", "/library/static/"
_LOG = logging.getLogger("letopis.server")
_READING = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken: bytes of a body, requests that write in a minute, answers at once, seconds for a body."""

    body: int = 16 * 1024 * 1024
    per_minute: int = 600
    at_once: int = 64
    seconds: float = 30.0


@dataclass(slots=True)
class Counted:
    """What one visitor asked lately, and how many answers it is being given."""

    lately: deque[float] = field(default_factory=deque)
    running: int = 0


class Refused(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}


class Guard:
    """The outermost layer of the server."""

    def __init__(
        self, app: App, workspaces: Workspaces, hosts: tuple[str, ...] = (), limits: Limits | None = None
    ) -> None:
        self._app, self._workspaces = app, workspaces
        self._hosts, self._limits = frozenset(h.casefold() for h in (*LOOPBACK, *hosts)), limits or Limits()
        self._named = self._hosts - set(LOOPBACK)
        self._counted: dict[str, Counted] = {}
        self.doors = Doors(workspaces)
        self.requests: dict[tuple[str, int], int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), 500

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._let_through(scope, receive, sent)
        except Refused as refused:
            await _answer(sent, refused)
        finally:
            self._note(scope, status, time.monotonic() - started)

    async def _let_through(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_names(headers)
        method, path = scope["method"], scope["path"]
        if method == "OPTIONS":
            raise Refused(405, "other origins are not let in")
        if path in OPEN or path.startswith(STATIC):
            await self._app(scope, receive, send)
            return
        visitor = Visitor("", "", f"stranger {(scope.get('client') or ('',))[0]}")
        if path != ENTER:
            try:
                visitor = self._visitor(scope, headers)
            except LetopisError as error:
                raise Refused(status_of(error), str(error)) from None
            _check_scope(visitor, method, path)
            scope.setdefault("state", {}).update(visitor=visitor, opened=await self._opened(visitor))
        self._check_body(method, headers)
        counted = self._count(visitor, method)
        counted.running += 1
        try:
            await self._app(scope, receive if method in _READING else await self._read(receive), send)
        finally:
            counted.running -= 1

    def _check_names(self, headers: dict[str, str]) -> None:
        host = _hostname(f"//{headers.get('host', '')}")
        if host not in self._hosts:
            raise Refused(421, f"this server does not answer for the name {host!r}; start it with --allow-host to")
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, headers.get("host", "")):
            raise Refused(403, f"pages of {origin[:100]!r} are not let in")

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether a page is ours: of this very address, port included, or of a name that the server was started for."""
        return _address_of(origin) == host.casefold() or _hostname(origin) in self._named

    def _visitor(self, scope: Scope, headers: dict[str, str]) -> Visitor:
        given = headers.get("authorization", "")
        key = given[7:].strip() if given[:7].casefold() == "bearer " else ""
        client = scope.get("client")
        loopback = client is None or client[0] in LOOPBACK
        visitor = (
            self._workspaces.visitor(key, loopback)
            or (self.doors.visitor(headers.get("cookie", "")) if not key else None)
            or (self._workspaces.visitor("", loopback) if not key.startswith("letopis_") else None)
        )
        if visitor is None and scope["method"] == "GET" and _is_page(scope["path"]):
            raise Refused(303, "a key is asked for", {"location": f"{ENTER}?next={quote(_address(scope))}"})
        if visitor is None:
            raise Refused(401, "send a key of a workspace as `Authorization: Bearer …`; `letopis keys add` makes one",
                          {"www-authenticate": "Bearer"})  # fmt: skip
        return visitor

    async def _opened(self, visitor: Visitor) -> Opened:
        try:
            known = self._workspaces.open_now(visitor.workspace)
            return known if known is not None else await in_thread(self._workspaces.get, visitor.workspace)
        except LetopisError as error:
            raise Refused(status_of(error), str(error)) from None

    def _check_body(self, method: str, headers: dict[str, str]) -> None:
        length = headers.get("content-length", "")
        if length and (not length.isdecimal() or int(length) > self._limits.body):
            raise Refused(413, f"a body may have {self._limits.body} bytes; this one says {length[:20]}")
        has_body = "transfer-encoding" in headers or length not in ("", "0")
        kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
        if has_body and method not in _READING and kind != "application/json":
            raise Refused(415, f"bodies are taken as application/json, not as {kind[:60]!r}")

    def _count(self, visitor: Visitor, method: str) -> Counted:
        counted = self._counted.setdefault(f"{visitor.workspace}/{visitor.mark}", Counted())
        now = time.monotonic()
        while counted.lately and counted.lately[0] < now - 60:
            counted.lately.popleft()
        if method not in _READING and len(counted.lately) >= self._limits.per_minute:
            wait = int(60 - (now - counted.lately[0])) + 1
            raise Refused(429, f"{self._limits.per_minute} requests a minute are taken; wait {wait} s",
                          {"retry-after": str(wait)})  # fmt: skip
        if counted.running >= self._limits.at_once:
            raise Refused(
                429, f"{self._limits.at_once} answers at once are given; wait for one to end", {"retry-after": "1"}
            )
        if method not in _READING:
            counted.lately.append(now)
        return counted

    async def _read(self, receive: Receive) -> Receive:
        """The whole body, if it is not more than is taken and does not come slower; given on as one piece."""
        parts: list[bytes] = []
        size, more = 0, True
        with anyio.move_on_after(self._limits.seconds) as time_left:
            while more:
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                more = message.get("more_body", False)
                if size > self._limits.body:
                    raise Refused(413, f"a body may have {self._limits.body} bytes; this one has more")
        if time_left.cancelled_caught:
            raise Refused(408, f"the body did not come within {self._limits.seconds:g} seconds")
        whole = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def given() -> MutableMapping[str, Any]:
            return whole.pop() if whole else await receive()

        return given

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """One line of log and one count: where, how it ended and how long, and nothing of what was said."""
        route = scope.get("route")
        where = getattr(route, "path", "") or ("/mcp" if scope["path"].startswith("/mcp") else "other")
        self.requests[(where, status)] = self.requests.get((where, status), 0) + 1
        visitor = scope.get("state", {}).get("visitor")
        record = {"method": scope["method"], "route": where, "status": status, "ms": round(seconds * 1000, 1)}
        record["workspace"] = visitor.workspace if visitor is not None else ""
        _LOG.info(json.dumps(record))


def _address_of(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.casefold()
    except ValueError:
        return ""


def _is_page(path: str) -> bool:
    return path in ("/", PAGES) or path.startswith(f"{PAGES}/")


def _address(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{scope['path']}?{query}" if query else str(scope["path"])


def _check_scope(visitor: Visitor, method: str, path: str) -> None:
    """What a key may do; the tools of MCP are chosen by the scope themselves."""
    for_good = method == "DELETE" and not path.startswith(UNDOABLE)
    needed = "read" if method in _READING or path in (MCP, LEAVE) else "admin" if for_good else "write"
    if not allows(visitor.scope, needed):
        raise Refused(403, f"this needs a key with the scope {needed}; this one has {visitor.scope}")


def _hostname(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").casefold()
    except ValueError:
        return ""


async def _answer(send: Send, refused: Refused) -> None:
    body = encoded(problem(refused.status, refused.detail))
    headers = {"content-type": "application/problem+json", "content-length": str(len(body)), "connection": "close"}
    pairs = [(name.encode(), value.encode()) for name, value in {**headers, **refused.headers}.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
