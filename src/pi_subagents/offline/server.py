"""`OfflineModel`: a scripted model on a loopback port, for the demo and for tests with a real agent.

It takes every API key and records it, so that a test can see which one arrived. Everything an agent asked
stays readable in `requests`, also after the server is closed.

One thread per connection. A thread only ever waits on its own socket, so shutting the sockets down ends every
wait at once: hanging answers, pauses and idle keep-alive connections. A client that goes away is normal.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pi_subagents.offline import gemini, messages
from pi_subagents.offline.agent_dir import write_agent_dir
from pi_subagents.offline.protocol import ChatCompletions, Frame, WireProtocol
from pi_subagents.offline.request import Arrival, Request, RequestError
from pi_subagents.offline.responses import Responses
from pi_subagents.offline.script import CutStream, Fail, Hang, Played, Player, Script, Turn
from pi_subagents.offline.side import is_side, side_answer

# How long close() may wait for the accept loop to look up, and for the answering threads to end.
_ACCEPT_POLL_S = 0.02
_DRAIN_S = 0.3

_FALLBACK = ChatCompletions()
"""Writes the errors for addresses that belong to no protocol, too."""
_PROTOCOLS: Sequence[WireProtocol] = (_FALLBACK, messages.Messages(), Responses(), gemini.Gemini())


class OfflineModel:
    """A model server that plays a script; use it as a context manager, from any thread or event loop.

    `errors` collects what functions in the script raised while they composed an answer.
    """

    def __init__(self, script: Script, *, model_id: str = "scripted", api_key: str = "offline-key") -> None:
        self.model_id = model_id
        self.api_key = api_key
        self.errors: list[Exception] = []
        self._player = Player(script)
        self._listener: _Listener | None = None
        self._requests: list[Request] = []
        self._arrived = threading.Condition()

    @property
    def url(self) -> str:
        """The server's address without `/v1`; raises RuntimeError before the start."""
        if self._listener is None:
            raise RuntimeError("the offline model is not started: use `with OfflineModel(script) as model`")
        return f"http://127.0.0.1:{self._listener.server_port}"

    @property
    def requests(self) -> list[Request]:
        """A copy of all requests so far, in order of arrival."""
        with self._arrived:
            return list(self._requests)

    def start(self) -> Self:
        """Listen on a free port of 127.0.0.1; raises RuntimeError if it was started before."""
        if self._listener is not None:
            raise RuntimeError("the offline model was started before: make a new one")
        self._listener = _Listener(self)
        return self

    def close(self) -> None:
        """Stop at once, hanging answers included; calling it again does nothing."""
        if self._listener is not None:
            self._listener.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; raises the script's own errors as an ExceptionGroup unless another error is on its way."""
        self.close()
        if error is None and self.errors:
            raise ExceptionGroup("the script of the offline model failed", self.errors)

    def wait_for_requests(self, count: int, timeout_s: float = 10.0) -> list[Request]:
        """The requests once at least `count` have arrived; raises TimeoutError with the number seen."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self._requests)} of {count} requests came within {timeout_s:g} s")
            return list(self._requests)

    def wait_until_idle(self, timeout_s: float = 10.0) -> bool:
        """Whether every connection has ended within the time, its client having left."""
        return self._listener is None or self._listener.wait_until_idle(timeout_s)

    def write_agent_dir(
        self, path: Path, *, retry_base_delay_ms: int = 20, settings: Mapping[str, object] | None = None
    ) -> Path:
        """Write an agent directory that points `pi` here; see `agent_dir.write_agent_dir`."""
        provider = f"{self.url}/v1", self.model_id, self.api_key
        return write_agent_dir(path, *provider, retry_base_delay_ms=retry_base_delay_ms, settings=settings)

    def answer(self, request: Request) -> Played:
        """Record a request and play what the script has for it; raises what a composed answer's function raises.

        What an agent asks beside its conversation is recorded too, but gets a short text instead.
        """
        request = replace(request, is_side=is_side(request))
        with self._arrived:
            self._requests.append(request)
            self._arrived.notify_all()
        return Turn(side_answer(request)) if request.is_side else self._player.answer(request)


class _Listener(ThreadingHTTPServer):
    """Accepts agents on a free loopback port, from the moment it is made."""

    daemon_threads = True
    request_queue_size = 128  # many agents start in the same instant

    def __init__(self, model: OfflineModel) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_ACCEPT_POLL_S,), name="offline-model", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop accepting, end every answer under way, free the port; calling it again does nothing."""
        if self.socket.fileno() < 0:
            return
        self.shutdown()
        self._thread.join()
        self.server_close()
        with self._changed:
            for connection in self._open:
                with contextlib.suppress(OSError):  # the client was quicker
                    connection.shutdown(socket.SHUT_RDWR)
        self.wait_until_idle(_DRAIN_S)

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Whether every connection has ended within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, timeout_s)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection while a thread serves it."""
        with self._changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close the connection and forget it."""
        super().shutdown_request(request)
        with self._changed:
            self._open.discard(request)
            self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep an error of the script for its author; a client that left is none, and nothing is printed."""
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self.model.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1 with keep-alive and chunked streams, as providers do."""

    server: _Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the server lives inside other programs' terminals."""

    def do_HEAD(self) -> None:
        """Tell a client that only looks whether anyone is there."""
        self._send(200, b"")

    def do_GET(self) -> None:
        """List the one model."""
        if self._route() != "/v1/models":
            return self._refuse(Fail(404, f"no such address: {self.path}"), _FALLBACK)
        models = [{"id": self.server.model.model_id, "object": "model", "owned_by": "offline"}]
        return self._send(200, json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:
        """Answer from the script, in the protocol that belongs to the address."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        route = self._route()
        if route == messages.COUNT_PATH:
            return self._send(200, messages.count_tokens(raw))
        if gemini.is_count(route):
            return self._send(200, gemini.count_tokens(raw))
        protocol = next((each for each in _PROTOCOLS if each.takes(route)), None)
        if protocol is None:
            return self._refuse(Fail(404, f"no such address: {self.path}"), _FALLBACK)
        try:
            request = protocol.read(Arrival(raw, dict(self.headers.items()), time.monotonic(), route))
        except RequestError as error:
            return self._refuse(Fail(400, str(error)), protocol)
        try:
            answer = self.server.model.answer(request)
        except Exception as error:
            # 400, because agents do not try such an error again.
            self._refuse(Fail(400, f"the script failed: {error!r}"), protocol)
            raise
        return self._play(answer, request, protocol)

    def _play(self, answer: Played, request: Request, protocol: WireProtocol) -> None:
        match answer:
            case Turn() if not request.streams:
                self._pause(answer.delay_s)
                self._send(200, protocol.document(answer, request))
            case Turn():
                self._stream(protocol.turn(answer, request))
                self._write_chunk(b"")
            case Fail():
                self._refuse(answer, protocol)
            case CutStream() if not request.streams:
                self._send_half(protocol.document(Turn(answer.text), request))
            case CutStream():
                self._stream([Frame(0.0, protocol.beginning(answer, request))])
                self.close_connection = True
            case Hang():
                if answer.text and request.streams:
                    self._stream([Frame(0.0, protocol.beginning(answer, request))])
                self._pause(None)

    def _stream(self, frames: Iterable[Frame]) -> None:
        for index, frame in enumerate(frames):
            self._pause(frame.pause_s)
            if index == 0:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
            if frame.data:
                self._write_chunk(frame.data)

    def _write_chunk(self, data: bytes) -> None:
        """An empty chunk ends the stream; without it the client sees that the stream was cut."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _pause(self, seconds: float | None) -> None:
        """Wait (for ever if None), but raise ConnectionAbortedError as soon as the client has left."""
        if seconds is not None and seconds <= 0:
            return
        with selectors.DefaultSelector() as selector:
            selector.register(self.connection, selectors.EVENT_READ)
            # While we owe an answer a client has nothing to say: readable means closed.
            if selector.select(seconds):
                raise ConnectionAbortedError("the client left while its answer was due")

    def _refuse(self, fail: Fail, protocol: WireProtocol) -> None:
        headers = {} if fail.retry_after_s is None else {"Retry-After": str(fail.retry_after_s)}
        self._send(fail.status, protocol.error(fail), headers)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_half(self, body: bytes) -> None:
        """Promise a document and break off in the middle."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])
        self.close_connection = True

    def _route(self) -> str:
        return self.path.partition("?")[0]
