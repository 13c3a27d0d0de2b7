"""How a page is made: in a thread, from a template, in the visitor's language, with headers that keep it to itself."""

import gzip
import hashlib
import time
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from letopis.memory import Memory
from letopis.server.crossing import in_thread
from letopis.server.library import rendering, words
from letopis.server.workspaces import Opened
from letopis.store.keys import allows

STATIC = Path(__file__).parent / "static"
LANGUAGE = "letopis_language"
_LONG = 4_000  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PLACES = (
    ("overview", "/library", "Overview"),
    ("chat", "/library/chat", "Chat"),
    ("search", "/library/search", "Search"),
    ("facts", "/library/facts", "Facts"),
    ("profile", "/library/profile", "Profile"),
    ("sessions", "/library/sessions", "Conversations"),
    ("notes", "/library/notes", "Notes"),
    ("experience", "/library/experience", "Experience"),
    ("context", "/library/context", "Prompt"),
    ("health", "/library/health", "Health"),
)
Build = Callable[[Memory], Mapping[str, Any]]


def memory_of(request: Request) -> Memory:
    """The memory of the workspace that the visitor is let into."""
    opened: Opened = request.state.opened
    return opened.memory


def language_of(request: Request) -> str:
    """The language of the visitor."""
    chosen = request.query_params.get("language") or request.cookies.get(LANGUAGE, "")
    return words.chosen(chosen, request.headers.get("accept-language", ""))


async def shown(request: Request, template: str, build: Build, status: int = 200) -> Response:
    """The page that a template makes of what `build` finds in the memory."""
    language, visitor = language_of(request), request.state.visitor
    rights = {"may_write": allows(visitor.scope, "write"), "may_remove": allows(visitor.scope, "admin")}
    switches = {code: f"?{urlencode([*_asked(request), ('language', code)])}" for code in words.LANGUAGES}
    common = {**rights, "switches": switches, "has_session": visitor.mark != "owner", "workspace": visitor.workspace}

    def made() -> tuple[Response, float]:
        start = time.perf_counter()
        memory = memory_of(request)
        today = memory.store.clock.now().date()
        text = rendered(template, language, today, request.url.path, **common, **build(memory))
        return as_sent(request, text, status), (time.perf_counter() - start) * 1000

    answer, taken = await in_thread(made)
    answer.headers["Server-Timing"] = f"page;dur={taken:.1f}"
    return answer


def _asked(request: Request) -> list[tuple[str, str]]:
    """What the address asks for, apart from the language."""
    return [(name, value) for name, value in request.query_params.multi_items() if name != "language"]


def as_sent(request: Request, text: str, status: int = 200) -> HTMLResponse:
    """A page as it is sent, a long one compressed; a language chosen by the switch is kept in a cookie."""
    data, headers = text.encode("utf-8", "replace"), {**HEADERS, "Vary": "Accept-Encoding, Accept-Language, Cookie"}
    if len(data) > _LONG and "gzip" in request.headers.get("accept-encoding", ""):
        data, headers["Content-Encoding"] = gzip.compress(data, 5, mtime=0), "gzip"
    answer = HTMLResponse(data, status, headers=headers)
    if request.query_params.get("language") in words.LANGUAGES:
        answer.set_cookie(
            LANGUAGE, request.query_params["language"], max_age=365 * 86_400, httponly=True, samesite="strict", path="/"
        )
    return answer


def rendered(template: str, language: str, today: date, path: str, **told: Any) -> str:
    """The text of a page."""
    say = words.speaker(language)
    tools = {
        "_": say,
        "named": partial(words.named, language),
        "count": partial(words.counted, language),
        "day": lambda moment: words.day(language, moment, today),
        "age": lambda moment: words.age(language, moment, today),
        "month": partial(words.month, language),
        "clock": words.clock,
        "language": language,
        "today": today.isoformat(),
        "path": path,
        "places": PLACES,
    }
    return environment().get_template(template).render(**tools, **told)


@cache
def environment() -> Environment:
    """The templates. A name that a page forgot to tell is an error; everything told is escaped."""
    made = Environment(
        loader=PackageLoader("letopis.server.library"), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.globals["static"] = static
    made.filters["markdown"] = rendering.markdown
    made.filters["marked"] = rendering.marked
    return made


@cache
def static(name: str) -> str:
    """The address of a file of ours, which changes when the file does."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:10]
    return f"/library/static/{name}?v={digest}"
