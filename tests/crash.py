"""Kills a real process at every step that it takes on the disk.

`steps(scenario)` runs the scenario in child processes. In each the system calls that change the
disk are counted, and at one of them the child is ended, before or after the call, by `os._exit`
or SIGKILL. What the child had been promised until then comes back through a pipe.
"""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

CALLS = ("write", "fsync", "rename", "replace", "link", "unlink", "ftruncate")
_LIMIT = 400


def steps(scenario: Callable[[Callable[[str], None]], None]) -> Iterator[tuple[int, str, list[str]]]:
    """(step, how, promises) of each child; `scenario` gets the function that tells a promise."""
    for step in range(_LIMIT):
        how = ("before", "after")[step % 2]
        finished, promises = _child(scenario, step // 2, how, kill=step % 3 == 0)
        yield step, how, promises
        if finished and how == "after":
            return
    raise AssertionError("the scenario takes more steps than expected")


def _child(
    scenario: Callable[[Callable[[str], None]], None], step: int, how: str, kill: bool
) -> tuple[bool, list[str]]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        code = 1
        try:
            plain = os.write
            _arm(step, how, kill)
            scenario(lambda promise: (plain(writing, promise.encode() + b"\n"), None)[1])
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        promises = pipe.read().splitlines()
    status = os.waitpid(pid, 0)[1]
    finished = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    killed = os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 77
    assert finished or killed, f"the child failed on its own at step {step} ({how}): status {status}"
    return finished, promises


def _arm(step: int, how: str, kill: bool) -> None:
    left = [step]

    def die() -> None:
        if kill:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(77)

    def wrapped(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == -1 and how == "before":
                die()
            if left[0] == -1 and call.__name__ == "write" and how == "after" and len(args[1]) > 8:
                call(args[0], bytes(args[1])[: len(args[1]) // 2])  # torn in the middle
                die()
            try:
                return call(*args, **kwargs)
            finally:
                if left[0] == -1 and how == "after":
                    die()

        return counted

    for name in CALLS:
        setattr(os, name, wrapped(getattr(os, name)))
