"""The wire of one client as the SDK wants it: messages in, messages out, and an answer to what is none.

The SDK says nothing to what it does not understand, and a client would wait for its answer for ever.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from pi_subagents.jsonl import Frame, Oversized
from pi_subagents.processes.wire import Wire
from pi_subagents.surfaces.mcp.handshake import MAX_MESSAGE_BYTES, Id
from pi_subagents.surfaces.mcp.server import SubagentServer
from pi_subagents.text.harmless import escape_json

logger = logging.getLogger(__name__)


async def serve_wire(wire: Wire, tools: Sequence[str] | None, answered: set[Id]) -> None:
    """Serve the client until it hangs up, whose `answered` requests need no second answer."""
    to_server, incoming = anyio.create_memory_object_stream[Any](0)
    outgoing, from_server = anyio.create_memory_object_stream[Any](0)
    try:
        async with SubagentServer(tools) as server, anyio.create_task_group() as group:
            group.start_soon(_read, wire, to_server, outgoing.clone())
            group.start_soon(_write, wire, from_server, answered, group.cancel_scope.cancel)
            await server.run(incoming, outgoing)
            group.cancel_scope.cancel()
    except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
        logger.debug("messages were under way when the server ended")
    # Such an end takes the place of the cancellation that brought it about.
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _read(
    wire: Wire,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    outgoing: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Pass on what the client says; what is not a message is answered here."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server is ending
        async with to_server, outgoing:
            async for frame in wire.messages():
                try:
                    message = _understand(frame)
                except _Refused as refused:
                    logger.warning("a message could not be understood: %s", refused)
                    await outgoing.send(SessionMessage(refused.answer))
                else:
                    await to_server.send(SessionMessage(message))


async def _write(
    wire: Wire,
    from_server: MemoryObjectReceiveStream[SessionMessage],
    answered: set[Id],
    hang_up: Callable[[], None],
) -> None:
    """Pass on what the server says, but not its answer to what was answered before it was there."""
    async with from_server:
        async for item in from_server:
            if isinstance(item.message, (types.JSONRPCResponse, types.JSONRPCError)) and item.message.id in answered:
                answered.discard(item.message.id)
                continue
            try:
                await wire.send(_encoded(item.message))
            except OSError:
                logger.info("the client no longer reads; stopping")
                hang_up()


def _encoded(message: types.JSONRPCMessage) -> bytes:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:  # something is not UTF-8, such as the name of a directory; a question mark is in its place
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)
    # Should a terminal get it: JSON itself escapes the older half of the control characters only.
    return escape_json(text).encode("utf-8", "replace") + b"\n"


class _Refused(Exception):  # noqa: N818 - reads as a sentence where it is raised
    """It is no message; `answer` is what the client is told."""

    def __init__(self, code: int, sentence: str, request_id: Any = None) -> None:
        super().__init__(sentence)
        error = types.ErrorData(code=code, message=sentence)
        try:
            self.answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        except ValidationError:  # no id that anybody could wait for
            self.answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=error)


def _understand(frame: Frame) -> types.JSONRPCMessage:
    """The message in a frame; raises _Refused."""
    if isinstance(frame, Oversized):
        sentence = f"a message of {frame.size} bytes is too large; the limit is {MAX_MESSAGE_BYTES} bytes"
        raise _Refused(types.INVALID_REQUEST, sentence)
    try:
        message = types.jsonrpc_message_adapter.validate_json(frame, by_name=False)
    except ValidationError as error:
        raise _refusal(frame, error.errors()[0]["msg"]) from error
    if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(frame):
        raise _Refused(types.INVALID_REQUEST, "the id of a request must be a text or a whole number")
    return message


def _refusal(frame: bytes, problem: str) -> _Refused:
    try:
        document = json.loads(frame)
    except (ValueError, RecursionError) as error:
        return _Refused(types.PARSE_ERROR, f"not JSON: {error}")
    request_id = document.get("id") if isinstance(document, dict) else None
    return _Refused(types.INVALID_REQUEST, f"not a JSON-RPC 2.0 message: {problem}", request_id)
