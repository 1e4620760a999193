"""Stops a call whose client is gone, where a closed connection alone does not say so.

Over HTTP a client may lose its connection and come back, so silence is no hang-up: it is asked, and what does not
answer for a while is gone. Revisions of the protocol without requests to the client cancel at the end of the
connection themselves, and over stdio the end of the input says it all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from pi_subagents.surfaces.mcp.clients import Context

T = TypeVar("T")

_QUESTIONS = 3
"""So many questions go unanswered before the silence is taken for an end."""
logger = logging.getLogger(__name__)


async def while_present(ctx: Context, silence_s: float | None, work: Awaitable[T]) -> T:
    """The result of the work; cancels it once the client has not answered for `silence_s`."""
    if silence_s is None or not ctx.session.can_send_request:
        return await work
    doing = asyncio.ensure_future(work)
    watching = asyncio.create_task(_until_gone(ctx, silence_s))
    try:
        await asyncio.wait([doing, watching], return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            logger.warning("the client has not answered for %s s; stopping its call", silence_s)
    finally:
        watching.cancel()
        doing.cancel()
    return await doing


async def _until_gone(ctx: Context, silence_s: float) -> None:
    pause = silence_s / _QUESTIONS
    heard = time.monotonic()
    while time.monotonic() - heard < silence_s:
        await asyncio.sleep(pause)
        if await _answers(ctx, pause):
            heard = time.monotonic()


async def _answers(ctx: Context, within_s: float) -> bool:
    try:
        await ctx.session.send_request(
            types.PingRequest(),
            types.EmptyResult,
            request_read_timeout_seconds=within_s,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except MCPError as error:
        return error.code not in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED)  # a refusal is an answer too
    return True
