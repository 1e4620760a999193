"""The commands that people type in pi: `/profile` and `/subagents`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from pi_subagents.errors import PiSubagentsError
from pi_subagents.harness.pi.arguments import BUILTIN_TOOLS
from pi_subagents.place import Place
from pi_subagents.skills import discover_skills
from pi_subagents.surfaces.bridge.dialogs import PiDialogs
from pi_subagents.surfaces.bridge.host import PiHost
from pi_subagents.surfaces.bridge.messages import INVALID_PARAMS, Refusal
from pi_subagents.surfaces.bridge.parameters import Command
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.run_list import show_runs
from pi_subagents.surfaces.bridge.screens import Screens
from pi_subagents.wizard import Cancelled, Host, completions, profile_command


class Commands:
    """Sees through what was typed."""

    def __init__(self, peer: Peer, host: PiHost, screens: Screens) -> None:
        self._host = host
        self._screens = screens
        self._dialogs = PiDialogs(peer)

    async def run(self, command: Command) -> None:
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

    async def complete(self, command: Command) -> list[dict[str, Any]]:
        """What can follow what has been typed so far."""
        if command.command != "profile":
            return []
        found = await asyncio.to_thread(completions, command.prefix, self._host.place)
        return [asdict(completion) for completion in found]

    async def _wizard_host(self) -> Host:
        place = self._host.place
        skills = await asyncio.to_thread(_skills, place)
        tools = tuple(dict.fromkeys((*self._host.tools, *BUILTIN_TOOLS)))
        return Host(place, models=self._host.models, tools=tools, skills=skills)


def _skills(place: Place) -> tuple[str, ...]:
    return tuple(discover_skills(place.cwd, place.agent_dir))
