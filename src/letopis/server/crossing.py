"""The one way from async code to the synchronous core: a thread for each call, and for each stream of events."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import anyio
import anyio.to_thread

Result = TypeVar("Result")
Item = TypeVar("Item")
THREADS = 64
_END: Any = object()
_limiters: dict[int, anyio.CapacityLimiter] = {}


def _limiter() -> anyio.CapacityLimiter:
    token = id(anyio.lowlevel.current_token())
    if token not in _limiters:
        _limiters.clear()
        _limiters[token] = anyio.CapacityLimiter(THREADS)
    return _limiters[token]


async def in_thread(call: Callable[..., Result], *args: Any) -> Result:
    """What a call of the core returns or raises."""
    return await anyio.to_thread.run_sync(call, *args, limiter=_limiter())


async def items(iterator: Iterator[Item]) -> AsyncIterator[Item]:
    """The items of an iterator of the core as they come; it is closed when nobody listens any more."""
    try:
        while (item := await in_thread(next, iterator, _END)) is not _END:
            yield item
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await in_thread(close)
