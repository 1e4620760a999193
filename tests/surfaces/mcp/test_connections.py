"""The server over HTTP against those who only want its connections: real sockets, and bounds that pass quickly."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from pi_subagents.surfaces.mcp.connections import BoundedProtocol, Bounds, Gate
from tests.kit.waiting import PATIENCE_S, until
from tests.surfaces.mcp.kit import Desk, post, request

LIMIT_S = PATIENCE_S
"""Far above every bound here, and below what a person would wait."""
SOURCES = os.pathsep.join(str(Path(__file__).parents[3] / folder) for folder in ("src", ""))
TOKEN = "a-token-of-this-test"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass
class Server:
    """A server with other bounds than the usual ones."""

    url: str
    pid: int
    log: Path

    def connect(self, receive_bytes: int = 0) -> socket.socket:
        found = re.search(r":(\d+)/", self.url)
        assert found
        connection = socket.socket()
        connection.settimeout(LIMIT_S)
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.connect(("127.0.0.1", int(found[1])))
        return connection

    def cpu_s(self) -> float:
        """The time that the server has worked so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def server(desk: Desk, descriptors: int = 1024, token: str = "", **bounds: float) -> Iterator[Server]:
    log = desk.stage.project / "log"
    program = [sys.executable, "-P", "-m", "tests.surfaces.mcp.bounded_server"]
    process = subprocess.Popen(
        [*program, str(log), json.dumps(bounds), str(descriptors), token],
        cwd=desk.stage.project,
        env={**desk.environ, "PYTHONPATH": SOURCES},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield Server(process.stdout.readline().strip(), process.pid, log)
    finally:
        process.terminate()
        process.wait(LIMIT_S)
        process.stdout.close()


def is_cut(connection: socket.socket) -> bool:
    """Wait for the end of a connection, whatever is said before."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def test_a_client_that_never_finishes_its_request_is_cut_off(desk: Desk) -> None:
    with server(desk, head_s=2, body_s=2, idle_s=2) as here, ExitStack() as open_ones:
        head = f"POST /mcp HTTP/1.1\r\n{headers(here)}Content-Length: 100\r\n\r\n".encode()
        sent = {
            "nothing": b"",
            "half a line": b"POST /mcp HTT",
            "half a head": b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-A: 1",
            "half a body": head + b"{",
            "kept open": GET,
        }
        connections = {what: open_ones.enter_context(here.connect()) for what in sent}
        for what, connection in connections.items():
            connection.sendall(sent[what])
        assert connections["kept open"].recv(12).startswith(b"HTTP/1.1 4")
        connections["kept open"].sendall(b"GET /m")
        assert [what for what, connection in connections.items() if not is_cut(connection)] == []
        assert post(here.url, request()) == 200


def headers(here: Server) -> str:
    """What every request of an MCP client says."""
    kinds = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    return f"Host: {here.url.split('/')[2]}\r\nMcp-Protocol-Version: 2025-11-25\r\n{kinds}"


def test_sending_byte_by_byte_does_not_make_the_time_longer(desk: Desk) -> None:
    with server(desk, head_s=1) as here, here.connect() as connection:
        connection.settimeout(0.02)
        begun = time.monotonic()
        with pytest.raises(ConnectionError):  # noqa: PT012 - one byte after the other
            while time.monotonic() - begun < LIMIT_S:
                connection.sendall(b"A")
                try:
                    if not connection.recv(100):
                        raise ConnectionResetError
                except TimeoutError:
                    pass


def ask_without_reading(connection: socket.socket) -> None:
    """Send requests until the connection is ended."""
    with suppress(ConnectionError):
        while connection.send(GET * 1000):
            pass


def test_a_client_that_does_not_read_its_answers_is_cut_off(desk: Desk) -> None:
    with server(desk, head_s=600, idle_s=600, unread_s=1) as here, here.connect(2048) as connection:
        ask_without_reading(connection)


def test_a_client_without_the_token_gets_one_answer_and_the_end(desk: Desk) -> None:
    with server(desk, token=TOKEN, idle_s=600) as here, here.connect() as connection:
        connection.sendall(GET * 3)
        answer = b""
        with suppress(ConnectionError):
            while data := connection.recv(65536):
                answer += data
        assert answer.count(b"HTTP/1.1 401") == 1


def test_a_client_without_the_token_may_finish_its_request(desk: Desk) -> None:
    """Else it would be told that the connection was reset, and not why."""
    body = b"x" * 300_000
    with server(desk, token=TOKEN) as here, here.connect() as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
        connection.sendall(body)
        assert connection.recv(12) == b"HTTP/1.1 401"
        assert is_cut(connection)


@pytest.mark.parametrize(
    "sent", [GET * 200_000, b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"], ids=["floods", "stalls"]
)
def test_clients_without_the_token_leave_room_for_one_with_it(desk: Desk, sent: bytes) -> None:
    with server(desk, descriptors=40, token=TOKEN, body_s=600) as here, ExitStack() as open_ones:
        for _ in range(20):
            connection = open_ones.enter_context(here.connect(2048))
            connection.settimeout(1)
            with suppress(ConnectionError, TimeoutError):
                connection.sendall(sent)
        assert post(here.url, request(), Authorization=f"Bearer {TOKEN}") == 200


class Pipe:
    """What a protocol knows of its connection, and the one timer that runs."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.unread = 0
        self.is_aborted = False
        self.expire: Callable[[], None] | None = None

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def get_extra_info(self, name: str) -> socket.socket | None:
        return self.end if name == "socket" else None

    def call_later(self, _seconds: float, act: Callable[..., None], *arguments: object) -> Pipe:
        self.expire = lambda: act(*arguments)
        return self

    def cancel(self) -> None:
        self.expire = None


def test_a_client_that_reads_slowly_is_not_cut_off_as_long_as_it_reads() -> None:
    configuration = uvicorn.Config(lambda _scope: None, log_config=None)
    with socket.socket() as end:
        pipe: Any = Pipe(end)
        protocol = BoundedProtocol(
            gate=Gate(Bounds()), config=configuration, server_state=ServerState(), app_state={}, _loop=pipe
        )
        protocol.connection_made(pipe)
    pipe.unread = 100_000
    protocol.pause_writing()
    for pipe.unread in (99_999, 70_000, 20_000):
        pipe.expire()
        assert not pipe.is_aborted
    pipe.expire()
    assert pipe.is_aborted


def test_a_stream_of_answers_is_not_cut_however_long_it_takes(desk: Desk) -> None:
    with server(desk, head_s=1, body_s=1, idle_s=1) as here, here.connect() as connection:
        body = request()
        head = f"POST /mcp HTTP/1.1\r\n{headers(here)}Content-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        answer = b""
        while b'"id":7' not in answer.replace(b" ", b""):
            answer += connection.recv(65536)
        session = re.search(rb"mcp-session-id: (\S+)", answer)
        assert session
        with here.connect() as stream:
            about = f"Mcp-Session-Id: {session[1].decode()}\r\n\r\n"
            stream.sendall(f"GET /mcp HTTP/1.1\r\n{headers(here)}{about}".encode())
            assert b"text/event-stream" in stream.recv(65536)
            stream.settimeout(2.5)
            assert not is_cut(stream), "a client that waits for messages must hear them"


@pytest.mark.parametrize("limits", [{"connections": 40}, {}], ids=["few connections", "few descriptors"])
def test_hundreds_of_idle_connections_leave_the_server_answering_and_idle(desk: Desk, limits: dict[str, float]) -> None:
    descriptors = 1024 if limits else 128
    with server(desk, descriptors, "", head_s=60, **limits) as here, ExitStack() as open_ones:
        for _ in range(250):
            open_ones.enter_context(here.connect())
        assert post(here.url, request()) == 200
        until(lambda: len(os.listdir(f"/proc/{here.pid}/fd")) < 100)  # noqa: PTH208
        until(lambda: is_idle(here), "the server has nothing left to do")
        assert post(here.url, request()) == 200


def is_idle(here: Server) -> bool:
    """Whether it does little for a second; one that turns in circles never does."""
    before, begun = here.cpu_s(), time.monotonic()
    time.sleep(1)
    return (here.cpu_s() - before) / (time.monotonic() - begun) < 0.5


def test_nobody_can_fill_the_log(desk: Desk) -> None:
    with server(desk) as here:
        for _ in range(50):
            with here.connect() as connection:
                connection.sendall(b"\0\r\n\r\n")
                assert is_cut(connection)
        for _ in range(50):
            with here.connect() as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
                connection.recv(100)
        lines = here.log.read_text().splitlines()
    assert len([line for line in lines if "Invalid HTTP request" in line]) == 1
    assert len(lines) < 20
