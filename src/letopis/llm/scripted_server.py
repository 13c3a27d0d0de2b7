"""An OpenAI-compatible server on loopback whose answers, and faults, are scripted.

Real HTTP, for tests and documentation:

    with ScriptedServer("Hello!", Fault(status=429, retry_after=0), "Again.") as server:
        settings = ModelSettings(name="test", base_url=server.url)
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

HTML = "<!doctype html><html><body><h1>It works</h1></body></html>"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong on purpose.

    `status` answers with an HTTP error; `body` replaces the answer as it is; `cut_after` ends a
    stream after so many pieces without its end; `delay` waits (seconds) before the answer.
    """

    status: int = 200
    body: str | None = None
    content_type: str = "application/json"
    cut_after: int | None = None
    delay: float = 0.0
    retry_after: float | None = None
    text: str = "This answer has several words."


@dataclass(frozen=True, slots=True)
class Calls:
    """An answer that calls tools: (name, arguments) each; arguments are sent as they are."""

    calls: tuple[tuple[str, Any], ...]
    text: str = ""
    finish: str = "tool_calls"


@dataclass(frozen=True, slots=True)
class Text:
    """An answer in words with a finish reason of its own."""

    text: str
    finish: str = "stop"


Answer = str | Text | Calls | Fault
Script = Answer | Callable[[Mapping[str, Any]], Answer]


class ScriptedServer:
    """The server. `requests` holds the body of each request, in order."""

    def __init__(self, *script: Script, otherwise: Script = "OK.") -> None:
        self.script: list[Script] = list(script)
        self.otherwise = otherwise
        self.requests: list[dict[str, Any]] = []
        self._guard = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL for `model.base_url`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def enqueue(self, *script: Script) -> None:
        """Add answers to the queue."""
        with self._guard:
            self.script += script

    def next(self, body: dict[str, Any]) -> Answer:
        """The answer to a request."""
        with self._guard:
            self.requests.append(body)
            item = self.script.pop(0) if self.script else self.otherwise
        return item(body) if callable(item) else item

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: ScriptedServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a chat completion."""
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        answer = self.owner.next(body)
        if isinstance(answer, Fault):
            time.sleep(answer.delay)
            if answer.status != 200 or answer.body is not None:
                self._send(answer.status, answer.body, answer.content_type, answer.retry_after)
                return
        if body.get("stream"):
            self._stream(answer)
        else:
            self._send(200, json.dumps(_completion(answer)), "application/json", None)

    def _send(self, status: int, body: str | None, content_type: str, retry_after: float | None) -> None:
        text = body if body is not None else json.dumps({"error": {"message": f"scripted {status}", "code": None}})
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, answer: Answer) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        cut = answer.cut_after if isinstance(answer, Fault) else None
        for at, chunk in enumerate(_chunks(answer)):
            if cut is not None and at >= cut:
                return
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _message(answer: Answer) -> tuple[dict[str, Any], str]:
    if isinstance(answer, Calls):
        calls = [
            {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": _arguments(arguments)}}
            for at, (name, arguments) in enumerate(answer.calls)
        ]
        return {"role": "assistant", "content": answer.text or None, "tool_calls": calls}, answer.finish
    text = answer if isinstance(answer, str) else answer.text
    return {"role": "assistant", "content": text}, answer.finish if isinstance(answer, Text) else "stop"


def _arguments(arguments: Any) -> Any:
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else arguments


def _completion(answer: Answer) -> dict[str, Any]:
    message, finish = _message(answer)
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "t", "choices": [choice], "usage": _USAGE}


_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _chunks(answer: Answer) -> Iterator[dict[str, Any]]:
    message, finish = _message(answer)
    base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "t"}

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}

    yield chunk({"role": "assistant"})
    for at, word in enumerate((message["content"] or "").split(" ")):
        yield chunk({"content": word if at == 0 else f" {word}"})
    for at, call in enumerate(message.get("tool_calls", [])):
        yield chunk({"tool_calls": [{"index": at, **call}]})
    yield chunk({}, finish)
    yield {**base, "choices": [], "usage": _USAGE}
