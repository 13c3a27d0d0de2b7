"""The HTTP server: the API, the OpenAI-compatible proxy and MCP behind one guard."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from letopis import __version__
from letopis.errors import InvalidInput, LetopisError
from letopis.server import api, library, proxy
from letopis.server.api.examples import described
from letopis.server.crossing import in_thread
from letopis.server.guard import Guard, Limits, Refused
from letopis.server.metrics import rendered
from letopis.server.problems import encoded, problem, status_of
from letopis.server.workspaces import Workspaces

if TYPE_CHECKING:
    from letopis.server.mcp_mount import Mounted

_ABOUT = "Sessions, search, facts, notes and experience of a Letopis memory. Errors are application/problem+json."


def application(
    workspaces: Workspaces,
    hosts: tuple[str, ...] = (),
    limits: Limits | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Guard:
    """The whole server over these workspaces; streams without an end of their own end when it is `stopping`."""

    mcp = _mcp()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            async with mcp.running() if mcp is not None else nullcontext():
                yield
        finally:
            await in_thread(workspaces.close)

    app = FastAPI(
        title="Letopis", version=__version__, description=_ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    guard = Guard(app, workspaces, hosts, limits)

    @app.get("/health", include_in_schema=False)
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready", include_in_schema=False)
    async def ready() -> Response:
        await in_thread(workspaces.names)
        return Response(encoded({"status": "ok"}), media_type="application/json")

    @app.get("/metrics", include_in_schema=False)
    async def metrics(request: Request) -> Response:
        return PlainTextResponse(await in_thread(rendered, guard.requests, request.state.opened))

    for router in api.routers:
        app.include_router(router)
    library.add_to(app)
    app.state.doors, app.state.stopping, app.state.workspaces = guard.doors, stopping, workspaces
    app.include_router(proxy.router, include_in_schema=False)
    if mcp is not None:
        app.router.routes.append(Route("/mcp", endpoint=mcp))
    _handle_errors(app)
    app.openapi = described(app)  # type: ignore[method-assign]
    return guard


def _mcp() -> "Mounted | None":
    """The MCP server, where its package is installed."""
    if find_spec("mcp") is None:
        return None
    from letopis.server.mcp_mount import Mounted

    return Mounted()


def _handle_errors(app: FastAPI) -> None:
    """Every error has one form; what a person may not see (a traceback) is in the log alone."""

    def told(request: Request, status: int, detail: str, headers: Any = None, **more: Any) -> Response:
        if library.is_asked_for(request):
            return library.problem_page(request, status, detail)
        body = encoded(problem(status, detail, **more))
        return Response(body, status, headers=headers, media_type="application/problem+json")

    @app.exception_handler(LetopisError)
    async def of_ours(request: Request, error: LetopisError) -> Response:
        return told(
            request, 400 if isinstance(error, InvalidInput) and _is_proxy(request) else status_of(error), str(error)
        )

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return told(request, error.status, error.detail, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        return told(request, 422, wrong)

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> Response:
        return told(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(RecursionError)
    async def too_deep(request: Request, error: RecursionError) -> Response:
        return told(request, 400, "the body nests too deep")


def _is_proxy(request: Request) -> bool:
    return request.url.path.startswith("/v1/")
