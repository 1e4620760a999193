"""Our server in a process of its own, and the SDK's client in front of it, over stdio or over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.kit.desks import HostDesk
from tests.kit.json_lines import JsonLines
from tests.kit.waiting import PATIENCE_S

Era = Literal["legacy", "2026-07-28"]
ERAS: tuple[Era, ...] = ("legacy", "2026-07-28")
WAIT_S = PATIENCE_S
INTRODUCTION = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
"""What a client says of itself in a handshake."""


def request(**changes: Any) -> bytes:
    """A handshake, or what the changes make of it."""
    usual = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": INTRODUCTION}
    return json.dumps({**usual, **changes}).encode()


def post(url: str, body: bytes, **headers: str) -> int:
    """The status of a request that no MCP client would make."""
    parts = urlsplit(url)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request("POST", parts.path, body, kinds | headers)
        return connection.getresponse().status
    finally:
        connection.close()


@dataclass
class Desk(HostDesk):
    """Where clients call the server from."""

    era: Era = "legacy"
    messages: list[Any] = field(default_factory=list)
    server = "mcp"

    def argv(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "pi_subagents", "mcp", *options]

    @asynccontextmanager
    async def client(self, *options: str, cwd: Path | None = None, **more: Any) -> AsyncIterator[Client]:
        """A client over stdio; what the server sends unasked is in `messages`."""
        command, *arguments = self.argv(*options)
        folder = cwd or self.stage.project
        server = StdioServerParameters(command=command, args=arguments, env=self.environ, cwd=folder)
        async with self.connected(stdio_client(server), **more) as client:
            yield client

    @asynccontextmanager
    async def connected(self, server: Any, **more: Any) -> AsyncIterator[Client]:
        """A client of a server, wherever it is."""

        async def take(message: Any) -> None:
            self.messages.append(message)

        async with asyncio.timeout(2 * WAIT_S), Client(server, mode=self.era, message_handler=take, **more) as client:
            yield client

    @contextmanager
    def http_server(self, *options: str) -> Iterator[str]:
        """The server over HTTP in the project's directory, for everybody unless told otherwise; yields its address."""
        with self.http_process(*options, "--no-token") as (url, _process):
            yield url

    @contextmanager
    def http_process(self, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
        """The same with its process, which asks for a token unless told otherwise."""
        process = subprocess.Popen(
            self.argv("--http", "127.0.0.1:0", *options),
            cwd=self.stage.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            found = re.search(r"http://\S+", line)
            assert found, line
            yield found[0], process
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            process.stderr.close()


def text_of(result: types.CallToolResult) -> str:
    """The text of a result."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def text_in(read: types.ReadResourceResult) -> str:
    """The text of a resource."""
    (content,) = read.contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


class RawClient(JsonLines):
    """A client over stdio that writes what it likes."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.argv(), desk.stage.project, desk.environ)

    def request(self, request_id: int, method: str, **parameters: Any) -> None:
        self.write(request(id=request_id, method=method, params=parameters) + b"\n")

    def answer(self) -> dict[str, Any]:
        """The next message that is no notification."""
        return self.hear_next(lambda message: "id" in message)

    def shake_hands(self) -> None:
        self.request(0, "initialize", **INTRODUCTION)
        assert self.answer()["result"]["serverInfo"]["name"] == "pi-subagents"
        self.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def call(self, request_id: int, tool: str, arguments: dict[str, Any]) -> None:
        self.request(request_id, "tools/call", name=tool, arguments=arguments)
