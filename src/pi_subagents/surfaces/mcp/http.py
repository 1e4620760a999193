"""Clients over streamable HTTP, each with the token: on this machine, too, there are other users and programs.

Web pages can reach a server on this machine too. So the Host a request names must be the one that is served, and a
request that comes from a page (it has an Origin) must come from a page of this very server.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pi_subagents.errors import InvalidCall
from pi_subagents.files import Directory
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.surfaces.mcp.connections import BACKLOG, BoundedProtocol, Bounds, Gate, SaidOnce
from pi_subagents.surfaces.mcp.handshake import MAX_MESSAGE_BYTES
from pi_subagents.surfaces.mcp.server import SubagentServer

PATH = "/mcp"
TOKEN_FILE = "mcp-token"
_MIN_TOKEN = 16
_TOKEN_BYTES = 32
_LEAVE_S = 2


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def netloc(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def names(self) -> list[str]:
        """What clients may call it."""
        loopback = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")] if self.is_loopback else []
        return list(dict.fromkeys([self.netloc, *loopback]))


def parse_address(text: str) -> Address:
    """`HOST:PORT`, or only the port for this machine; raises InvalidCall."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise InvalidCall(f'"{text}" is not an address; use HOST:PORT, for example 127.0.0.1:8790')
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_unspecified:
            raise InvalidCall(f"{host} means every address of this machine; give the one that clients use")
    return Address(host, int(port))


def read_token(path: Path) -> str:
    """The token in a file; raises InvalidCall if it protects nothing or cannot be sent."""
    try:
        token = path.read_text(encoding="utf-8").strip()
        open_to_others = path.stat().st_mode & 0o077
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidCall(f"the token file {path} cannot be read: {error}") from error
    if len(token) < _MIN_TOKEN:
        raise InvalidCall(
            f"the token in {path} is shorter than {_MIN_TOKEN} characters; 'openssl rand -hex 32' makes one"
        )
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidCall(f"the token in {path} is not one word of ASCII characters; clients could not send it")
    if open_to_others:
        raise InvalidCall(f"other users can read the token file {path}; run: chmod 600 {path}")
    return token


def make_token(path: Path) -> bool:
    """Write a new token into a file that only the user can read, unless there is one; whether it is new.

    Raises InvalidCall.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with Directory.at(path.parent) as folder:
            folder.create(path.name, f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n".encode(), sync=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise InvalidCall(f"the token file {path} cannot be written: {error.strerror or error}") from error
    return True


def serve_http(
    address: Address,
    tools: Sequence[str] | None,
    token: str | None,
    silence_s: float | None,
    announce: Callable[[str], None],
    bounds: Bounds | None = None,
) -> int:
    """Serve until a signal; the exit code then. Raises InvalidCall for an address that cannot be used."""
    if token is None and not address.is_loopback:
        raise InvalidCall(
            f"{address.host} can be reached from other machines, which could start agents here: "
            "use --token-file, or listen on 127.0.0.1"
        )
    listening, address = _listen(address)
    announce(f"http://{address.netloc}{PATH}")
    try:
        run_until_signalled(_serve(listening, address, tools, token, silence_s, bounds or Bounds()))
    except Interrupted as interrupted:
        return interrupted.exit_code
    return 0


def _listen(address: Address) -> tuple[socket.socket, Address]:
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((address.host, address.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise InvalidCall(f"cannot listen on {address.netloc}: {error.strerror or error}") from error
    return listening, Address(address.host, listening.getsockname()[1])


async def _serve(
    listening: socket.socket,
    address: Address,
    tools: Sequence[str] | None,
    token: str | None,
    silence_s: float | None,
    bounds: Bounds,
) -> None:
    async with SubagentServer(tools, silence_s) as server:
        app = server.mcp.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=MAX_MESSAGE_BYTES,
            transport_security=TransportSecuritySettings(
                allowed_hosts=address.names, allowed_origins=[f"http://{name}" for name in address.names]
            ),
        )
        web = _Web(_configuration(_with_token(app, token), bounds))
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        finally:
            await server.close()
            web.should_exit = True
            await asyncio.wait([serving])


def _configuration(app: ASGIApp, bounds: Bounds) -> uvicorn.Config:
    for name in ("uvicorn.error", "asyncio", BoundedProtocol.__module__):
        logging.getLogger(name).addFilter(SaidOnce())
    protocol: Any = partial(BoundedProtocol, gate=Gate(bounds))
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        backlog=BACKLOG,
        timeout_keep_alive=max(1, round(bounds.idle_s)),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_LEAVE_S,
    )


class _Web(uvicorn.Server):
    """Signals are for whoever runs the program: they stop the agents first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _with_token(app: ASGIApp, token: str | None) -> ASGIApp:
    if token is None:
        return app
    expected = token.encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), expected):
                return await _refuse(scope, receive, send)
        return await app(scope, receive, send)

    return checked


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Whoever has no token gets one answer and the end of the connection, not one answer after the other."""
    while (await receive()).get("more_body"):
        pass  # a connection that is closed while the client sends is reset, and the answer may be lost
    headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
    await PlainTextResponse("The token is missing or wrong.\n", 401, headers=headers)(scope, receive, send)
