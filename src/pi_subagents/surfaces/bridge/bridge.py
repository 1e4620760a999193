"""What is done about each message of the extension."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from pi_subagents.processes.wire import Wire
from pi_subagents.surfaces.bridge.background import BackgroundWatch
from pi_subagents.surfaces.bridge.calls import BridgeCalls
from pi_subagents.surfaces.bridge.commands import Commands
from pi_subagents.surfaces.bridge.greeting import greet
from pi_subagents.surfaces.bridge.host import PiHost
from pi_subagents.surfaces.bridge.messages import Params
from pi_subagents.surfaces.bridge.parameters import (
    Cancel,
    Command,
    HostColumns,
    HostModels,
    HostTools,
    ScreenEvent,
    SessionStart,
    ToolCall,
)
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.screens import Screens

logger = logging.getLogger(__name__)


class Bridge:
    """One conversation with one extension."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def run(self) -> None:
        """Serve until the other side hangs up; nothing but background runs is left afterwards."""
        self._peer = Peer(self._wire)
        self._host = PiHost()
        self._background = BackgroundWatch(self._peer, self._host)
        self._calls = BridgeCalls(self._peer, self._host, self._background.launched)
        self._screens = Screens(self._peer)
        self._commands = Commands(self._peer, self._host, self._screens)
        try:
            await self._peer.listen(
                {
                    "hello": self._hello,
                    "session/shutdown": self._shutdown,
                    "tool/call": lambda params: self._calls.begin(msgspec.convert(params, ToolCall)),
                    "command/run": lambda params: self._commands.run(msgspec.convert(params, Command)),
                    "command/complete": lambda params: self._commands.complete(msgspec.convert(params, Command)),
                },
                {
                    "session/start": self._start,
                    "host/tools": lambda params: self._host.take_tools(msgspec.convert(params, HostTools)),
                    "host/columns": lambda params: self._host.take_columns(msgspec.convert(params, HostColumns)),
                    "host/models": lambda params: self._host.take_models(msgspec.convert(params, HostModels)),
                    "tool/cancel": lambda params: self._calls.cancel(msgspec.convert(params, Cancel).call),
                    "screen/key": lambda params: self._screens.take_key(msgspec.convert(params, ScreenEvent)),
                    "screen/closed": lambda params: self._screens.take_end(msgspec.convert(params, ScreenEvent)),
                },
            )
        finally:
            self._background.close()
            self._screens.close()
            await self._calls.close()
            await self._peer.finish()

    async def _hello(self, params: Params) -> dict[str, Any]:
        return await asyncio.to_thread(greet, params)

    async def _shutdown(self, _params: Params) -> None:
        self._background.close()
        await self._calls.stop()

    def _start(self, params: Params) -> None:
        self._host.open(msgspec.convert(params, SessionStart))
        self._background.open()
