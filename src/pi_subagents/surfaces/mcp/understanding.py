"""What a client wrote, as a message, or what is wrong with it.

The SDK says nothing to what it does not understand, and a client would wait for its answer for ever.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
from pydantic import ValidationError

from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.surfaces.mcp.identity import MAX_MESSAGE_BYTES


class Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """It is no message; `answer` is what the client is told."""

    def __init__(self, code: int, sentence: str, request_id: Any = None) -> None:
        super().__init__(sentence)
        error = types.ErrorData(code=code, message=sentence)
        try:
            self.answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        except ValidationError:  # no id that anybody could wait for
            self.answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)


def understand(frame: Frame) -> types.JSONRPCMessage:
    """The message in a frame; raises Refused."""
    if isinstance(frame, Oversized):
        sentence = f"a message of {frame.size} bytes is too large; the limit is {MAX_MESSAGE_BYTES} bytes"
        raise Refused(types.INVALID_REQUEST, sentence)
    try:
        message = types.jsonrpc_message_adapter.validate_json(frame, by_name=False)
    except ValidationError as error:
        raise _refusal(frame, error.errors()[0]["msg"]) from error
    if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(frame):
        raise Refused(types.INVALID_REQUEST, "the id of a request must be a text or a whole number")
    return message


def _refusal(frame: bytes, problem: str) -> Refused:
    try:
        document = json.loads(frame)
    except (ValueError, RecursionError) as error:
        return Refused(types.PARSE_ERROR, f"not JSON: {error}")
    request_id = document.get("id") if isinstance(document, dict) else None
    return Refused(types.INVALID_REQUEST, f"not a JSON-RPC 2.0 message: {problem}", request_id)
