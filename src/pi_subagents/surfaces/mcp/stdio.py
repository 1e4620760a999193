"""One client over standard input and output; when it hangs up, foreground runs are stopped and the server ends."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pi_subagents.processes.wire import Wire
from pi_subagents.surfaces.mcp.handshake import Greeting, Id
from pi_subagents.surfaces.mcp.identity import MAX_MESSAGE_BYTES
from pi_subagents.text.harmless import escape_json

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCMessage

_NEXT_WITHIN_S = 0.05
"""Clients that have been answered go on at once; for what takes longer the SDK had better be loaded by then."""

logger = logging.getLogger(__name__)


def serve_stdio(tools: Sequence[str] | None, once_greeted: Callable[[], None]) -> None:
    """Serve the client that started this process until it hangs up; raises Interrupted at a signal.

    `once_greeted` is called when the client has its first answer: what can wait until then, should.
    """
    wire = Wire(MAX_MESSAGE_BYTES)
    greeting = Greeting(tools)
    if not _greet(wire, greeting):
        return
    once_greeted()
    from pi_subagents.processes.interrupts import run_until_signalled

    run_until_signalled(_serve(wire, tools, greeting.answered))


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


async def _serve(wire: Wire, tools: Sequence[str] | None, answered: set[Id]) -> None:
    import anyio

    from pi_subagents.surfaces.mcp.server import SubagentServer

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
    import anyio
    from mcp.shared.message import SessionMessage

    from pi_subagents.surfaces.mcp.understanding import Refused, understand

    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the server is ending
        async with to_server, outgoing:
            async for frame in wire.messages():
                try:
                    message = understand(frame)
                except Refused as refused:
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
    import mcp_types as types

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


def _encoded(message: JSONRPCMessage) -> bytes:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:  # something is not UTF-8, such as the name of a directory; a question mark is in its place
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True), ensure_ascii=False)
    # Should a terminal get it: JSON itself escapes the older half of the control characters only.
    return escape_json(text).encode("utf-8", "replace") + b"\n"
