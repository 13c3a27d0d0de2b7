"""The embedders: the bundled model itself, and an endpoint over real HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from letopis.errors import KeyRefused, ModelError, Unavailable
from letopis.llm.embedding import BundledEmbedder, EndpointEmbedder, bundled_runs_here, choose
from letopis.settings import Settings
from letopis.settings.tree import EmbeddingSettings, ModelSettings, VectorMemorySettings

here = pytest.mark.skipif(not bundled_runs_here(), reason="the bundled model has no build for this processor")


@here
@pytest.mark.timeout(60)
def test_the_bundled_model_knows_meaning_in_both_languages() -> None:
    model = BundledEmbedder()
    passages = model.passages(["Кота зовут Барсик", "The invoice is due on Friday", "Как называется моя кошка"])
    questions = model.queries(["имя домашнего питомца", "payment deadline"])
    near = questions @ passages.T
    assert near[0].argmax() in (0, 2)
    assert near[1].argmax() == 1
    assert passages.shape == (3, model.size)


@here
@pytest.mark.timeout(60)
def test_odd_text_has_a_vector_or_none_and_never_an_error() -> None:
    made = BundledEmbedder().passages(["a\0b", "\ud83d текст", "", "  \n", "x" * 100_000, "a b"])
    assert np.isfinite(made[[0, 1, 4, 5]]).all()
    assert np.isnan(made[[2, 3]]).all()
    assert np.allclose(made[0], made[5], atol=1e-3)


def test_none_is_chosen_where_it_is_asked_for_or_switched_off() -> None:
    assert choose(Settings(embedding=EmbeddingSettings(kind="none"))) is None
    assert choose(Settings(vector_memory=VectorMemorySettings(enabled=False))) is None
    assert isinstance(choose(Settings(embedding=EmbeddingSettings(kind="endpoint"))), EndpointEmbedder)


class Server(ThreadingHTTPServer):
    """An embeddings endpoint: letters counted, faults on demand."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, object]] = []
        self.fault: int | None = None


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        rows = [{"index": i, "object": "embedding", "embedding": [len(t), 1.0]} for i, t in enumerate(body["input"])]
        answer: object = {
            "object": "list",
            "data": rows[::-1],
            "model": "m",
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }
        if self.server.fault == 200:
            answer = {
                "object": "list",
                "data": rows[1:],
                "model": "m",
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        data = json.dumps(answer).encode()
        self.send_response(self.server.fault or 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[tuple[EndpointEmbedder, Server]]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    own = EmbeddingSettings(
        kind="endpoint", model="m", base_url=f"http://127.0.0.1:{server.server_address[1]}/v1",
        query_prefix="q: ", passage_prefix="p: ",
    )  # fmt: skip
    yield EndpointEmbedder(Settings(embedding=own, model=ModelSettings(retries=0))), server
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_endpoint_is_asked_in_batches_with_its_own_prefixes(endpoint: tuple[EndpointEmbedder, Server]) -> None:
    model, server = endpoint
    made = model.passages(["x" * n for n in range(100)])
    assert np.isnan(made[0]).all()
    assert [int(v[0]) for v in made[1:]] == [n + 3 for n in range(1, 100)]
    assert [len(body["input"]) for body in server.bodies] == [64, 35]  # type: ignore[arg-type]
    model.queries(["when"])
    assert server.bodies[-1]["input"] == ["q: when"]


@pytest.mark.parametrize(("fault", "kind"), [(401, KeyRefused), (500, Unavailable), (200, Unavailable)])
def test_the_faults_of_an_endpoint_are_typed(
    endpoint: tuple[EndpointEmbedder, Server], fault: int, kind: type[ModelError]
) -> None:
    model, server = endpoint
    server.fault = fault
    with pytest.raises(kind, match="'m'"):
        model.queries(["a", "b"])
