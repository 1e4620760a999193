"""What is done about each message of the extension."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

import msgspec

from pi_subagents.errors import PiSubagentsError
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.processes.wire import Wire
from pi_subagents.skills import discover_skills
from pi_subagents.surfaces.bridge.background import BackgroundWatch
from pi_subagents.surfaces.bridge.calls import BridgeCalls, Cancel, ToolCall
from pi_subagents.surfaces.bridge.handshake import INVALID_PARAMS, Params, Refusal, greet
from pi_subagents.surfaces.bridge.host import HostColumns, HostModels, HostTools, PiHost, SessionStart
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.run_list import show_runs
from pi_subagents.surfaces.bridge.terminal import PiDialogs, ScreenEvent, Screens
from pi_subagents.wizard import Cancelled, Host, completions, profile_command


class Command(msgspec.Struct, frozen=True):
    """A command that somebody typed, or begins to type."""

    command: str
    arguments: str = ""
    prefix: str = ""


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
        self._dialogs = PiDialogs(self._peer)
        try:
            await self._peer.listen(
                {
                    "hello": (dict, self._hello),
                    "session/shutdown": (dict, self._shutdown),
                    "tool/call": (ToolCall, self._calls.begin),
                    "command/run": (Command, self._run_command),
                    "command/complete": (Command, self._complete),
                },
                {
                    "session/start": (SessionStart, self._start),
                    "host/tools": (HostTools, self._host.take_tools),
                    "host/columns": (HostColumns, self._host.take_columns),
                    "host/models": (HostModels, self._host.take_models),
                    "tool/cancel": (Cancel, self._calls.cancel),
                    "screen/key": (ScreenEvent, self._screens.take_key),
                    "screen/closed": (ScreenEvent, self._screens.take_end),
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

    def _start(self, start: SessionStart) -> None:
        self._host.open(start)
        self._background.open()

    async def _run_command(self, command: Command) -> None:
        """Do what a command says; raises Refusal for one that there is not."""
        try:
            if command.command == "profile":
                await profile_command(command.arguments, self._dialogs, await self._wizard_host())
            elif command.command == "subagents":
                await show_runs(self._host.place, self._screens, self._dialogs)
            else:
                raise Refusal(INVALID_PARAMS, f"unknown command /{command.command}")
        except Cancelled:
            return
        except PiSubagentsError as error:
            await self._dialogs.notify(str(error), "error")

    async def _complete(self, command: Command) -> list[dict[str, Any]]:
        """What can follow what has been typed so far."""
        if command.command != "profile":
            return []
        found = await asyncio.to_thread(completions, command.prefix, self._host.place)
        return [asdict(completion) for completion in found]

    async def _wizard_host(self) -> Host:
        place = self._host.place
        skills = await asyncio.to_thread(discover_skills, place.cwd, place.agent_dir)
        tools = tuple(dict.fromkeys((*self._host.tools, *BUILTIN_TOOLS)))
        return Host(place, models=place.models, tools=tools, skills=tuple(skills))
