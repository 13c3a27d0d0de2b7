"""A request that the memory has no part in: it goes to the upstream as it is, and comes back as it is."""

import ssl
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import Any

import httpx2
from fastapi.responses import JSONResponse, Response, StreamingResponse

from letopis.settings.tree import ModelSettings

_ENDPOINT = "https://api.openai.com/v1"
_KEPT = ("content-type", "content-encoding", "retry-after", "x-request-id")


@cache
def _verified() -> ssl.SSLContext:
    """Made once: reading the trust store takes as long as an answer."""
    return ssl.create_default_context()


async def through(settings: ModelSettings, body: Mapping[str, Any]) -> Response:
    """Ask the upstream of the workspace and hand its answer on, byte by byte."""
    if not settings.base_url and not settings.name:
        return _unavailable("no model is configured here, so there is nothing to pass requests on to")
    address = f"{(settings.base_url or _ENDPOINT).rstrip('/')}/chat/completions"
    sent = {**body, "model": settings.name if body.get("model") in (None, "", "letopis") else body["model"]}
    client = httpx2.AsyncClient(timeout=settings.timeout, verify=_verified())
    request = client.build_request(
        "POST",
        address,
        json=sent,
        headers={
            "authorization": f"Bearer {settings.api_key or 'none'}",
            "accept-encoding": "identity",
        },
    )
    try:
        answer = await client.send(request, stream=True)
    except httpx2.HTTPError as error:
        await client.aclose()
        return _unavailable(f"the upstream {address} cannot be reached ({type(error).__name__}); check model.base_url")

    async def bytes_() -> AsyncIterator[bytes]:
        try:
            async for piece in answer.aiter_raw():
                yield piece
        finally:
            await answer.aclose()
            await client.aclose()

    headers = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
    return StreamingResponse(bytes_(), status_code=answer.status_code, headers=headers)


def _unavailable(message: str) -> Response:
    return JSONResponse({"error": {"message": message, "type": "api_error", "code": None}}, status_code=503)
