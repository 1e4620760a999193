"""A proxy that lets nothing through and remembers which hosts a program tried to reach.

It hears of programs that obey the variables for proxies, which is all that can be had without the rights of root. Node
must be told to: it ignores them otherwise.
"""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

_OURS = "127.0.0.1,localhost,::1"
_POLL_S = 0.02


class Sink:
    """Use it as a context manager; `environ` makes programs use it for every host but this machine."""

    def __init__(self) -> None:
        self.hosts: list[str] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_S,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def environ(self) -> dict[str, str]:
        """The variables that point programs here, in upper and lower case."""
        url = f"http://127.0.0.1:{self._server.server_port}"
        variables = {"HTTP_PROXY": url, "HTTPS_PROXY": url, "ALL_PROXY": url, "NO_PROXY": _OURS}
        return {**variables, **{name.lower(): value for name, value in variables.items()}, "NODE_USE_ENV_PROXY": "1"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, sink: Sink) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sink = sink

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that leave without waiting for the answer: their request has been recorded."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def handle_one_request(self) -> None:
        """Remember the host, whatever the method, and refuse."""
        with contextlib.suppress(OSError):
            words = self.rfile.readline(65_536).decode("latin-1").split()
            if len(words) > 1:
                self.server.sink.hosts.append(words[1])
                self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.close_connection = True
