"""The one way from async code to the synchronous core: a thread for each call, and for each stream of events.

What waits for a model has threads of its own, so that it never keeps a short call waiting.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

Result = TypeVar("Result")
Item = TypeVar("Item")
THREADS = 64
_END: Any = object()
_calls: RunVar[anyio.CapacityLimiter] = RunVar("calls")
_turns: RunVar[anyio.CapacityLimiter] = RunVar("turns")


def _limiter(kind: RunVar[anyio.CapacityLimiter]) -> anyio.CapacityLimiter:
    found = kind.get(None)
    if found is None:
        found = anyio.CapacityLimiter(THREADS)
        kind.set(found)
    return found


async def in_thread(call: Callable[..., Result], *args: Any) -> Result:
    """What a call of the core returns or raises."""
    return await anyio.to_thread.run_sync(call, *args, limiter=_limiter(_calls))


async def items(iterator: Iterator[Item]) -> AsyncIterator[Item]:
    """The items of an iterator of the core as they come; it is closed when nobody listens any more."""
    try:
        while (item := await anyio.to_thread.run_sync(next, iterator, _END, limiter=_limiter(_turns))) is not _END:
            yield item
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            with anyio.CancelScope(shield=True):
                await in_thread(close)
