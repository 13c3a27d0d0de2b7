"""What the tests share: real workspaces, a clock that is set by hand, scripted models, no network."""

import socket
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from letopis.llm.connect import Models
from letopis.llm.scripted import ScriptedModel
from letopis.memory import Memory, open_memory
from letopis.store.init import init

settings.register_profile(
    "letopis",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("letopis")

MOSCOW = timezone(timedelta(hours=3))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A property test tries many examples, so it may take longer on a busy machine."""
    for item in items:
        many = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if many and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(90))


class HandClock:
    """Tells the time that it was set to; each look moves it on by a second."""

    def __init__(self, start: datetime, step: float = 1.0) -> None:
        self.moment, self.step = start, timedelta(seconds=step)

    def now(self) -> datetime:
        self.moment += self.step
        return self.moment

    def forward(self, **delta: float) -> None:
        self.moment += timedelta(**delta)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reaches a network: a connection to anything but this machine fails it."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "unix"
        assert host in ("127.0.0.1", "::1", "localhost", "unix"), f"a test tried to reach {host}"
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the machine reaches a test."""
    for name in ("LETOPIS_WORKSPACE", "OPENAI_API_KEY", "OPENAI_BASE_URL", "LETOPIS_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LETOPIS_CONFIG", str(tmp_path / "no-such-config.toml"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LETOPIS_EMBEDDING_KIND", "none")


@pytest.fixture
def clock() -> HandClock:
    return HandClock(datetime(2026, 3, 1, 10, 15, tzinfo=MOSCOW))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    init(path)
    return path


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[], Path]:
    """Makes one workspace after another."""
    numbers = count()

    def made() -> Path:
        path = tmp_path / f"w{next(numbers)}"
        init(path)
        return path

    return made


Opener = Callable[..., Memory]


@pytest.fixture
def opened(folder: Path, clock: HandClock) -> "Opener":
    """Opens the workspace, with a scripted model or none, as often as a test likes."""

    def make(model: ScriptedModel | None = None, **flags: object) -> Memory:
        flags = {"embedding__kind": "none", **flags}
        return open_memory(folder, models=Models(model, model), clock=clock, environ={}, **flags)

    return make


@pytest.fixture
def memory(opened: Opener) -> Memory:
    """The workspace without a model."""
    return opened()


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}
