"""One call of a tool: who calls and from where, how it stands, whether its client is still there, and its result."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from pi_subagents.place import Place
from pi_subagents.surfaces.mcp.handshake import TASKS_EXTENSION
from pi_subagents.text import duration
from pi_subagents.tools import OnProgress, Progress, Spoken, ToolResult

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")
R = TypeVar("R", bound=types.Result)

MIN_INTERVAL_S = 0.25
MAX_INTERVAL_S = 10.0
_ROOTS_TIMEOUT_S = 5.0
_QUESTIONS = 3
"""So many questions go unanswered before the silence is taken for an end."""

Send = Callable[[float, str], Awaitable[None]]
"""Takes the seconds since the call began, which grow as the protocol demands, and the words."""

logger = logging.getLogger(__name__)


# --- who calls -------------------------------------------------------------------------------------


async def place_of(ctx: Context) -> Place:
    """The client's first root that is a directory here, if it offers roots, else where the server was started."""
    for folder in await _roots(ctx):
        if _is_here(folder):
            return Place.here(folder)
    return Place.here()


def owner_of(ctx: Context) -> str:
    """Whose background runs a call starts and sees: the same client finds them again after a restart."""
    client = ctx.session.client_params
    return f"mcp:{client.client_info.name}" if client else "mcp"


def takes_tasks(ctx: Context) -> bool:
    """Whether the client said with this request that it can come back for a result."""
    return ctx.session.check_client_capability(types.ClientCapabilities(extensions={TASKS_EXTENSION: {}}))


async def _roots(ctx: Context) -> list[Path]:
    # Asked for at every call: then nobody has to remember them, or to notice that they changed.
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
        return []
    try:
        answer = await _ask(ctx, types.ListRootsRequest(), types.ListRootsResult, _ROOTS_TIMEOUT_S)
    except (MCPError, ValidationError) as error:
        logger.warning("the client offers roots but did not name them: %s", error)
        return []
    return [path for root in answer.roots if (path := _local_path(str(root.uri)))]


async def _ask(ctx: Context, request: types.ServerRequest, kind: type[R], within_s: float) -> R:
    """What the client answers to a request about the call; raises MCPError."""
    about = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(request, kind, request_read_timeout_seconds=within_s, metadata=about)


def _local_path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(unquote(parts.path))


def _is_here(folder: Path) -> bool:
    try:
        return folder.is_absolute() and folder.is_dir()
    except OSError:  # a name that is too long, or a place that nobody may enter
        return False


# --- the call --------------------------------------------------------------------------------------


class ClientCalls:
    """Runs every call in a task of its own.

    The SDK cancels a handler again and again until it has returned, and stopping agents takes a few steps. So the
    handler leaves at once, and its call is asked to stop exactly one time.
    """

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a call; if the caller is cancelled, the call stops its agents and ends by itself."""
        call = asyncio.create_task(work)
        self._under_way.add(call)
        call.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            call.cancel()
            raise

    async def close(self) -> None:
        """Stop every call and wait until nothing is left of its agents."""
        calls = list(self._under_way)
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)


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
        await _ask(ctx, types.PingRequest(), types.EmptyResult, within_s)
    except MCPError as error:
        return error.code not in (types.REQUEST_TIMEOUT, types.CONNECTION_CLOSED)  # a refusal is an answer too
    return True


class Reporter:
    """Keeps the latest words until it is time to send them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._words = "Starting"
        self._news = asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()

    def take(self, progress: Progress) -> None:
        """There is something new."""
        if isinstance(progress, Spoken):
            self._words = progress.line
            self._news.set()

    async def run(self) -> None:
        """Send for ever; whoever started it ends it with the call."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), MAX_INTERVAL_S)
            is_news = self._news.is_set()
            self._news.clear()
            elapsed = self._clock() - self._began
            words = self._words if is_news else f"{self._words} ({duration(elapsed)})"
            await self._send(elapsed, words)
            await asyncio.sleep(MIN_INTERVAL_S)


@asynccontextmanager
async def reporting(send: Send | None) -> AsyncIterator[OnProgress | None]:
    """Who hears of a call's progress; None for a client that did not ask."""
    if send is None:
        yield None
        return
    reporter = Reporter(send)
    sending = asyncio.create_task(reporter.run())
    try:
        yield reporter.take
    finally:
        sending.cancel()


def to_mcp(result: ToolResult) -> types.CallToolResult:
    """The text as content, and what says the same in structure, which a call that was wrong has not."""
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=result.structured,
        is_error=result.is_error,
    )
