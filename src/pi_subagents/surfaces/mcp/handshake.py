"""One client over standard input and output: its first requests are answered before the SDK is loaded.

Clients wait a second or so for the server to say who it is and what it offers, and then go on without it. The answers
are those that the SDK would give, which tests make sure of; whatever is not answered here is left to the SDK. The SDK
is shown the answered requests too, so that it knows where the conversation stands, and what it says to them is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from pi_subagents import __version__
from pi_subagents.encoding import decoder_of
from pi_subagents.processes.wire import Wire

Id = int | str

NAME = "pi-subagents"
TITLE = "Sub-agents"
VERSION = __version__
INSTRUCTIONS = (
    "Hands tasks to sub-agents, each an isolated coding agent with its own context. A sub-agent sees nothing but its "
    "task: give it all it needs. Results stay readable by session id, also after a crash; background_agent is for work "
    "that should go on while you do something else."
)
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of the protocol that begin with `initialize`, oldest first."""
MODERN_VERSIONS = ("2026-07-28",)
"""Revisions that do without it."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""More than the largest prompt that anybody sends; a client that sends more is told so."""
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"


_NEXT_WITHIN_S = 0.05
"""Clients that have been answered go on at once; for what takes longer the SDK had better be loaded by then."""
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_CLIENT_KEYS = ("io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")


def serve_stdio(tools: Sequence[str] | None, once_greeted: Callable[[], None]) -> int:
    """Serve the client that started this process until it hangs up, or a signal comes; the exit code.

    `once_greeted` is called when the client has its first answer: what can wait until then, should.
    """
    wire = Wire(MAX_MESSAGE_BYTES)
    greeting = Greeting(tools)
    if not _greet(wire, greeting):
        return 0
    once_greeted()
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled

    try:
        run_until_signalled(_serve(wire, tools, greeting.answered))
    except Interrupted as interrupted:
        return interrupted.exit_code
    return 0


async def _serve(wire: Wire, tools: Sequence[str] | None, answered: set[Id]) -> None:
    from pi_subagents.surfaces.mcp.stdio import serve_wire  # the SDK: signals are heard while it is loaded

    await serve_wire(wire, tools, answered)


def _greet(wire: Wire, greeting: Greeting) -> bool:
    """Answer what can be answered at once, as long as it comes at once; whether the client is still there."""
    frame = wire.look()
    if frame is None:
        return False
    try:
        while isinstance(frame, bytes) and (answer := greeting.answer(frame)) is not None:
            wire.write(answer)
            frame = wire.look(_NEXT_WITHIN_S)
    except BrokenPipeError:
        return False
    return True


class _Message(msgspec.Struct):
    method: str
    jsonrpc: str
    id: Id | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)


_DECODER = decoder_of(_Message)
_ENCODER = msgspec.json.Encoder()


class Greeting:
    """What has been said so far; `answered` are the requests whose answers by the SDK nobody waits for."""

    def __init__(self, tools: Sequence[str] | None = None) -> None:
        self._tools = tools
        self._greeted = False
        self.answered: set[Id] = set()

    def answer(self, line: bytes) -> bytes | None:
        """The answer to a message, empty if it needs none; None if it is the SDK's to answer, and all that follow."""
        try:
            message = _DECODER.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            return None
        if message.jsonrpc != "2.0":
            return None
        if message.id is None:
            return b"" if message.method == "notifications/initialized" and self._greeted else None
        result = self._result(message.method, message.params)
        if result is None:
            return None
        self.answered.add(message.id)
        return _ENCODER.encode({"jsonrpc": "2.0", "id": message.id, "result": result}) + b"\n"

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "initialize" and not self._greeted and _introduces_itself(params):
            self._greeted = True
            return initialize_result(params["protocolVersion"])
        if method == "server/discover" and _is_modern(params):
            return discover_result()
        if method == "tools/list" and self._greeted and "cursor" not in params:
            return list_tools_result(self._tools)
        return None


def initialize_result(asked_version: str) -> dict[str, Any]:
    """What the server can do, in the version that the client asked for if it is known, else in the newest."""
    return {
        "protocolVersion": asked_version if asked_version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": _capabilities(changes_are_told=False),
        "serverInfo": _server_info(),
        "instructions": INSTRUCTIONS,
    }


def discover_result() -> dict[str, Any]:
    """The same for clients of later revisions, which begin without a handshake."""
    return {
        "_meta": {_SERVER_KEY: _server_info()},
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": {**_capabilities(changes_are_told=True), "extensions": {TASKS_EXTENSION: {}}},
        "instructions": INSTRUCTIONS,
    }


def list_tools_result(tools: Sequence[str] | None) -> dict[str, Any]:
    """The tools that are served."""
    from pi_subagents.tools import TOOLS

    served = [TOOLS[name] for name in tools or TOOLS]
    return {"tools": [{**tool.to_json(), "outputSchema": dict(tool.output_schema)} for tool in served]}


def _capabilities(*, changes_are_told: bool) -> dict[str, Any]:
    return {
        "prompts": {"listChanged": changes_are_told},
        "resources": {"subscribe": changes_are_told, "listChanged": True},
        "tools": {"listChanged": changes_are_told},
    }


def _server_info() -> dict[str, str]:
    return {"name": NAME, "title": TITLE, "version": VERSION}


def _introduces_itself(params: dict[str, Any]) -> bool:
    client = params.get("clientInfo")
    return (
        isinstance(params.get("protocolVersion"), str)
        and isinstance(params.get("capabilities"), dict)
        and isinstance(client, dict)
        and isinstance(client.get("name"), str)
        and isinstance(client.get("version"), str)
    )


def _is_modern(params: dict[str, Any]) -> bool:
    meta = params.get("_meta")
    return (
        isinstance(meta, dict)
        and meta.get(_VERSION_KEY) in MODERN_VERSIONS
        and all(isinstance(meta.get(key), dict) for key in _CLIENT_KEYS)
    )
