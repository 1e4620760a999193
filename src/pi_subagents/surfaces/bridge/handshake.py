"""The messages and the first of them: `hello` is answered before anything else is loaded, because `pi` waits for it.

JSON-RPC 2.0, one message a line. Nothing here may load what the first answer can do without.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi_subagents import __version__
from pi_subagents.extension import PROTOCOL
from pi_subagents.jsonl import Frame
from pi_subagents.processes.wire import Wire
from pi_subagents.text.harmless import escape_json

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
COMMANDS = (
    {"name": "profile", "description": "List, show, create, edit and delete sub-agent profiles"},
    {"name": "subagents", "description": "Watch, steer and stop sub-agents, and read what they said"},
)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_PROTOCOL = -32000

Params = dict[str, Any]


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """What the other side is answered instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def encode(message: dict[str, Any]) -> bytes:
    """A message with its line ending; half of a surrogate pair, which UTF-8 cannot hold, becomes `?`."""
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
    return escape_json(text).encode("utf-8", "replace") + b"\n"


def answer(number: Any, result: Any) -> bytes:
    """The answer to a request."""
    return encode({"id": number, "result": result})


def refuse(number: Any, refusal: Refusal) -> bytes:
    """The same where there is nothing to answer but why."""
    return encode({"id": number, "error": {"code": refusal.code, "message": str(refusal)}})


def decode(frame: bytes) -> dict[str, Any]:
    """The message in a frame; raises Refusal."""
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise Refusal(PARSE_ERROR, f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise Refusal(INVALID_REQUEST, "not a JSON-RPC 2.0 message")
    return message


def params_of(message: dict[str, Any]) -> Params:
    """What a message says; nothing where it says it in another form than by name."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def serve(once_greeted: Callable[[], None]) -> int:
    """Serve the `pi` that started this process until it hangs up, or a signal comes; the exit code.

    `once_greeted` is called when it has its first answer: what can wait until then, should.
    """
    wire = Wire(MAX_MESSAGE_BYTES)
    first = wire.look()
    if first is None:
        return 0
    try:
        reply = _greeting(first)
        if reply is not None:
            wire.write(reply)
            wire.forget()
    except BrokenPipeError:
        return 0
    once_greeted()
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
    from pi_subagents.surfaces.bridge.bridge import Bridge

    try:
        run_until_signalled(Bridge(wire).run())
    except Interrupted as interrupted:
        return interrupted.exit_code
    return 0


def _greeting(frame: Frame) -> bytes | None:
    """The answer to a `hello`; None for any other message, which can wait."""
    if not isinstance(frame, bytes):
        return None
    try:
        message = decode(frame)
    except Refusal:
        return None
    if message.get("method") != "hello" or "id" not in message:
        return None
    try:
        return answer(message["id"], greet(params_of(message)))
    except Refusal as refusal:
        return refuse(message["id"], refusal)


def greet(params: Params) -> dict[str, Any]:
    """The answer to `hello`; raises Refusal if the two sides cannot understand each other."""
    extension, path = params.get("extension"), params.get("path")
    if params.get("protocol") != PROTOCOL:
        raise Refusal(
            UNSUPPORTED_PROTOCOL,
            f"pi-subagents {__version__} does not match its extension in pi, which is version "
            f"{extension}: run 'pi-subagents install pi' and restart pi.",
        )
    if not isinstance(extension, str):
        raise Refusal(INVALID_PARAMS, "extension: the version of the extension is missing")
    notice = _refresh(path) if extension != __version__ and isinstance(path, str) else None
    return {"protocol": PROTOCOL, "version": __version__, "notice": notice, "commands": list(COMMANDS)}


def _refresh(folder: str) -> str | None:
    """Bring the installed files up to date; what there is to say about it."""
    from pi_subagents.installing.pi_extension import refresh
    from pi_subagents.place import Place

    return refresh(Path(folder), __version__, Place.here())
