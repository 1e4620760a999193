"""JSON-RPC 2.0 messages as they go over the wire."""

from __future__ import annotations

import json
from typing import Any

from pi_subagents.text.harmless import escape_json

MAX_MESSAGE_BYTES = 32 * 1024 * 1024

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
