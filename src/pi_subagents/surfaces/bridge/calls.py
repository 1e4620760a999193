"""Tool calls under way: each can be cancelled, and all are seen to their end when the conversation ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from pi_subagents.agents.sharing import SharedAgents
from pi_subagents.errors import PiSubagentsError
from pi_subagents.models import Usage
from pi_subagents.progress import Window
from pi_subagents.surfaces.bridge.entries import RUN_ENTRY, run_entry, spend
from pi_subagents.surfaces.bridge.host import PiHost
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.views import RunPatches, WindowPatches, result_view, windows_details
from pi_subagents.tools import TOOLS, Progress, RunOver, ToolContext, ToolResult, Update, call_tool

_CANCELLED = ToolResult("Cancelled", is_error=True)
_MIN_INTERVAL_S = 0.05
_TICK_S = 0.5
"""Clocks show seconds, and none should be missed; where nothing has changed, nothing is sent."""

logger = logging.getLogger(__name__)


class ToolCall(msgspec.Struct, frozen=True):
    """A call of one of our tools by the model."""

    call: str
    name: str
    arguments: Any = None


class Cancel(msgspec.Struct, frozen=True):
    """The call that nobody waits for any more."""

    call: str


class _Updates:
    """Tells the extension how a call stands: soon after something happened, and every second for the clocks."""

    def __init__(self, peer: Peer, call: str) -> None:
        self._windows: Sequence[Window] = ()
        self._details: dict[str, Any] | None = None
        self._peer = peer
        self._call = call
        self._news = asyncio.Event()
        self._window_patches = WindowPatches()
        self._run_patches = RunPatches()

    def take(self, update: Update) -> None:
        """How the call stands."""
        if update.windows:
            self.take_windows(update.windows)
        else:
            self._details = update.details()
            self._news.set()

    def take_windows(self, windows: Sequence[Window]) -> None:
        """The same of a call that has windows, while it goes on and at its end."""
        self._windows = windows
        self._news.set()

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send while the block runs, and at its end what is left to say: updates add up to the result."""
        work = asyncio.create_task(self._send())
        try:
            yield
        finally:
            work.cancel()
            self._tell()

    async def _send(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _TICK_S)
            self._news.clear()
            self._tell()
            # Somebody who reads slowly gets fewer and larger updates instead of a heap of them.
            await self._peer.flush()
            await asyncio.sleep(_MIN_INTERVAL_S)

    def _tell(self) -> None:
        patch = {}
        if self._windows:
            patch = self._window_patches.news(self._windows)
        elif self._details is not None:
            patch = self._run_patches.news(self._details)
        if patch:
            self._peer.notify("tool/update", {"call": self._call, "patch": patch})


@dataclass
class _Call:
    """A call under way; its work begins a moment after the call does."""

    asked: ToolCall
    updates: _Updates
    usage: Usage = field(default_factory=Usage)
    is_cancelled: bool = False
    work: asyncio.Task[ToolResult] | None = None
    answer: asyncio.Task[dict[str, Any]] | None = None

    def cancel(self) -> None:
        """Ask for an end, at most once: stopping agents takes a few steps, which must not be cut short."""
        tool = TOOLS.get(self.asked.name)
        if self.is_cancelled or (tool and not tool.can_be_cancelled):
            return
        self.is_cancelled = True
        if self.work is not None:
            self.work.cancel()


class BridgeCalls:
    """Every call that has not been answered."""

    def __init__(self, peer: Peer, host: PiHost, on_launched: Callable[[dict[str, Any]], None]) -> None:
        self._peer = peer
        self._host = host
        self._on_launched = on_launched
        self._agents = SharedAgents("pi")
        self._under_way: dict[str, _Call] = {}
        self._warned: set[str] = set()

    def begin(self, asked: ToolCall) -> asyncio.Task[dict[str, Any]]:
        """Begin a call; what is wrong with it is in its result."""
        call = self._under_way[asked.call] = _Call(asked, _Updates(self._peer, asked.call))
        call.answer = asyncio.create_task(self._see_through(call))
        return call.answer

    def cancel(self, cancel: Cancel) -> None:
        """Stop a call's agents; its answer says how each task ended."""
        if call := self._under_way.get(cancel.call):
            call.cancel()

    async def close(self) -> None:
        """Stop every call for good, and end the agents that are kept for the next one."""
        await self.stop()
        await self._agents.close()

    async def stop(self) -> None:
        """Stop every call and wait until nothing is left of its agents."""
        calls = list(self._under_way.values())
        for call in calls:
            call.cancel()
        if waiting := [call.answer for call in calls if call.answer is not None]:
            await asyncio.wait(waiting)

    async def _see_through(self, call: _Call) -> dict[str, Any]:
        try:
            async with call.updates.sending():
                result = await self._result(call)
                if result.windows:
                    call.updates.take_windows(result.windows)
            self._warn(result.details.get("warnings", ()))
            if "run" in result.details:
                self._on_launched(result.details["run"])
            return _answer(call, result)
        finally:
            if self._under_way.get(call.asked.call) is call:
                del self._under_way[call.asked.call]

    def _warn(self, warnings: Iterable[str]) -> None:
        """Tell the person what is wrong around here, each thing once."""
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self._peer.notify("ui/notify", {"message": f"pi-subagents: {warning}", "level": "warning"})

    async def _result(self, call: _Call) -> ToolResult:
        if call.is_cancelled:
            return _CANCELLED
        try:
            call.work = asyncio.create_task(call_tool(call.asked.name, call.asked.arguments, self._context(call)))
            return await call.work
        except asyncio.CancelledError:
            return _CANCELLED
        except PiSubagentsError as error:
            return ToolResult(str(error), is_error=True)
        except Exception as error:  # the model is told, and can go on
            logger.exception("%s failed", call.asked.name)
            return ToolResult(f"pi-subagents failed: {type(error).__name__}: {error}", is_error=True)

    def _take(self, call: _Call, progress: Progress) -> None:
        match progress:
            case Update():
                call.updates.take(progress)
            case RunOver(state, run_dir):
                call.usage += state.usage
                entry = run_entry(state, run_dir)
                self._host.log.take(RUN_ENTRY, entry)
                self._peer.notify("entry/append", {"type": RUN_ENTRY, "data": entry})

    def _context(self, call: _Call) -> ToolContext:
        host = self._host
        return ToolContext(
            host.place,
            on_progress=partial(self._take, call),
            available_tools=host.tools,
            columns=lambda: host.columns,
            answer_when_cancelled=True,
            sessions=host.sessions,
            runner=self._agents.at(host.place),
            remembered=host.log.remembered,
            owner=host.owner,
        )


def _answer(call: _Call, result: ToolResult) -> dict[str, Any]:
    details = dict(result.details)
    if result.windows:
        details |= windows_details(result.windows)
    else:
        details["view"] = result_view(call.asked.name, result)
    return {"text": result.text, "details": details, "isError": result.is_error, "usage": spend(call.usage)}
