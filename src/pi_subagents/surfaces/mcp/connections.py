"""Connections that cost no more than they may: each phase of a request has its time, and there is room for so many.

A client that says nothing, or says it byte by byte, is cut off; where there is no room left, whoever has let us wait
longest for a request makes some. An answer takes as long as it takes, as streams of progress last for hours, but only
while it is read.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

BACKLOG = 64
"""So many may be accepted at once, before there is a word with any of them."""

_MAX_CONNECTIONS = 256
_SHARE_OF_DESCRIPTORS = 4
"""Agents need descriptors, too."""
_QUIET_S = 60.0
_SENDING_BYTES = 64 * 1024
"""What the system keeps of an answer; if it were much, a slow reader would look like one that does not read at all."""

logger = logging.getLogger(__name__)


def _room() -> int:
    return max(8, min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE_OF_DESCRIPTORS))


@dataclass(frozen=True)
class Bounds:
    """How long a client may take, in seconds, and how many there may be."""

    head_s: float = 10.0
    """From the connection to the end of the first request's head."""
    body_s: float = 60.0
    """From there to the end of its body."""
    idle_s: float = 30.0
    """From an answer to the end of the next request's head."""
    unread_s: float = 60.0
    """From one piece that is read to the next, where an answer waits to be read."""
    connections: int = field(default_factory=_room)


class Gate:
    """All connections of one server."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.connected: set[BoundedProtocol] = set()
        self.waiting: dict[BoundedProtocol, None] = {}
        """Those without a whole request, the one that has been so longest first."""

    def admit(self, newcomer: BoundedProtocol) -> bool:
        """Whether there is room for one more."""
        if len(self.connected) >= self.bounds.connections:
            if not self.waiting:
                logger.warning("no room for another client; all %s connections are in use", len(self.connected))
                return False
            next(iter(self.waiting)).cut_off()
        self.connected.add(newcomer)
        return True

    def forget(self, gone: BoundedProtocol) -> None:
        """A connection is over."""
        self.connected.discard(gone)
        self.waiting.pop(gone, None)


class BoundedProtocol(H11Protocol):
    """HTTP, within bounds. What a client sends ends a phase, but does not make it longer."""

    def __init__(self, *, gate: Gate, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._gate = gate
        self._admitted = False
        self._phase = ""
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        self._admitted = self._gate.admit(self)
        if not self._admitted:
            transport.abort()
            return
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENDING_BYTES)
        super().connection_made(transport)
        self._measure()

    def data_received(self, data: bytes) -> None:
        if self._admitted:
            super().data_received(data)
            self._measure()

    def on_response_complete(self) -> None:
        self._phase = ""
        super().on_response_complete()
        self._measure()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._measure()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._measure()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._gate.forget(self)
        if self._admitted:
            super().connection_lost(exc)

    def cut_off(self) -> None:
        """End the connection at once."""
        self._gate.forget(self)
        self.transport.abort()

    def _measure(self) -> None:
        """Begin the time of another phase."""
        phase, bound_s = self._current()
        if phase == self._phase:
            return
        self._phase = phase
        self._stop_timer()
        self._gate.waiting.pop(self, None)
        if phase in ("waiting", "body"):
            self._gate.waiting[self] = None
        if bound_s is not None:
            self._start_timer(bound_s)

    def _current(self) -> tuple[str, float | None]:
        bounds = self._gate.bounds
        is_closing = self.transport.is_closing()
        if self.transport.get_write_buffer_size() if is_closing else self.flow.write_paused:
            return "unread", bounds.unread_s
        if is_closing:
            return "over", None
        if self.cycle is None:
            return "waiting", bounds.head_s
        if self.cycle.response_complete:
            return "waiting", bounds.idle_s
        return ("body", bounds.body_s) if self.cycle.more_body else ("answer", None)

    def _start_timer(self, bound_s: float) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(bound_s, self._expire, bound_s)

    def _expire(self, bound_s: float) -> None:
        if self.transport.get_write_buffer_size() < self._unread:
            self._start_timer(bound_s)  # it reads, if slowly
        else:
            self.cut_off()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class SaidOnce(logging.Filter):
    """Lets the same message through once a minute, so that nobody can fill a log."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it has not been said lately."""
        now = time.monotonic()
        if now - self._said.get(str(record.msg), -_QUIET_S) < _QUIET_S:
            return False
        self._said[str(record.msg)] = now
        return True
