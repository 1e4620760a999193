"""The agents of a program that makes calls for a while: made as the settings say, shared by its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from pi_subagents.agents.pool import Agents, Keeping
from pi_subagents.harness import Invocation
from pi_subagents.place import Place
from pi_subagents.runners import LocalRunner, choose_mechanism, room_for_agents
from pi_subagents.settings import Settings
from pi_subagents.store import Places


def agents_for(place: Place, settings: Settings) -> Agents:
    """The agents of a program that runs for a while, for all its delegations; it closes them at its end."""
    runner = LocalRunner(choose_mechanism(settings.containment))
    keeping = None
    if settings.warm_agents:
        keeping = Keeping(settings.warm_idle_s, settings.warm_max_memory_mb * 1_000_000, _surroundings)
    limit = settings.max_processes or room_for_agents()
    return Agents(runner, keeping=keeping, places=Places.for_processes(place.agent_dir, limit))


def _surroundings(invocation: Invocation) -> Mapping[Path, str] | None:
    return invocation.renewal.surroundings() if invocation.renewal else None


class SharedAgents:
    """The agents of a host that makes calls from several places, as long as the settings there say to keep any."""

    def __init__(self) -> None:
        self._of: dict[tuple[Path, str], Agents] = {}

    def at(self, place: Place) -> Agents | None:
        """The agents for calls from a place; None where each call has its own."""
        settings = place.settings()
        if not settings.warm_agents or settings.runner == "tmux":
            return None
        key = (place.cwd, repr(settings))
        if key not in self._of:
            self._of[key] = agents_for(place, settings)
        return self._of[key]

    async def close(self) -> None:
        """End everything that is kept."""
        await asyncio.gather(*(agents.close() for agents in self._of.values()))
