"""The HTTP side of the offline model: streams answers on loopback and can always be closed promptly.

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
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pi_subagents.offline.player import Played, Player
from pi_subagents.offline.protocols import FALLBACK, PROTOCOLS, SIDE_ANSWERS, Frame, WireProtocol
from pi_subagents.offline.request import Arrival, Request, RequestError
from pi_subagents.offline.script import CutStream, Fail, Hang, Turn

# How long close() may wait for the accept loop to look up, and for the answering threads to end.
_ACCEPT_POLL_S = 0.02
_DRAIN_S = 0.3


class Listener(ThreadingHTTPServer):
    """Accepts agents on a free loopback port; `errors` collects what a script's own functions raised."""

    daemon_threads = True
    request_queue_size = 128  # many agents start in the same instant

    def __init__(self, player: Player, model_id: str, record: Callable[[Request], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.player = player
        self.model_id = model_id
        self.record = record
        self.errors: list[Exception] = []
        self._open: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_ACCEPT_POLL_S,), name="offline-model", daemon=True
        )

    def start(self) -> None:
        """Begin to accept."""
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
            self.errors.append(error)


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1 with keep-alive and chunked streams, as providers do."""

    server: Listener
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
            return self._refuse(Fail(404, f"no such address: {self.path}"), FALLBACK)
        models = [{"id": self.server.model_id, "object": "model", "owned_by": "offline"}]
        return self._send(200, json.dumps({"object": "list", "data": models}).encode())

    def do_POST(self) -> None:
        """Answer from the script, in the protocol that belongs to the address."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if side_answer := SIDE_ANSWERS.get(self._route()):
            return self._send(200, side_answer(raw))
        protocol = PROTOCOLS.get(self._route())
        if protocol is None:
            return self._refuse(Fail(404, f"no such address: {self.path}"), FALLBACK)
        try:
            request = protocol.read(Arrival(raw, dict(self.headers.items()), time.monotonic()))
        except RequestError as error:
            return self._refuse(Fail(400, str(error)), protocol)
        self.server.record(request)
        return self._play(self._answer(request, protocol), request, protocol)

    def _answer(self, request: Request, protocol: WireProtocol) -> Played:
        try:
            return self.server.player.answer(request)
        except Exception as error:
            # 400, because agents do not try such an error again.
            self._refuse(Fail(400, f"the script failed: {error!r}"), protocol)
            raise

    def _play(self, answer: Played, request: Request, protocol: WireProtocol) -> None:
        match answer:
            case Turn():
                self._stream(protocol.turn(answer, request))
                self._write_chunk(b"")
            case Fail():
                self._refuse(answer, protocol)
            case CutStream():
                self._stream(protocol.beginning(answer, request))
                self.close_connection = True
            case Hang():
                if answer.text:
                    self._stream(protocol.beginning(answer, request))
                self._pause(None)

    def _stream(self, frames: Iterable[Frame]) -> None:
        for index, frame in enumerate(frames):
            self._pause(frame.pause_s)
            if index == 0:
                self._open_stream()
            self._write_chunk(frame.data)

    def _open_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

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

    def _route(self) -> str:
        return self.path.partition("?")[0]
