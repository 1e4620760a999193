"""The agents of a program that makes calls for a while: made as the settings say, shared by its calls."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi_subagents.agents.pool import AgentPool, Keeping
from pi_subagents.place import Place
from pi_subagents.runners import LocalRunner, Runner, choose_mechanism, room_for_agents
from pi_subagents.settings import Settings
from pi_subagents.store import Slots


def agents_for(place: Place, settings: Settings) -> Runner:
    """Where a program starts its agents, for all its delegations; it closes it at its end."""
    mechanism = choose_mechanism(settings.containment)
    slots = Slots.for_processes(place.agent_dir, settings.max_processes or room_for_agents())
    if not settings.warm_agents:
        return LocalRunner(mechanism, slots)
    keeping = Keeping(settings.warm_idle_s, settings.warm_max_memory_mb * 1_000_000)
    return AgentPool(LocalRunner(mechanism), keeping, slots=slots)


class SharedAgents:
    """The agents of a host that makes calls from several places, as long as the settings there say to keep any."""

    def __init__(self) -> None:
        self._of: dict[tuple[Path, str], Runner] = {}

    def at(self, place: Place) -> Runner | None:
        """The agents for calls from a place; None where each call has its own."""
        settings = place.settings()
        if not settings.warm_agents or settings.runner != "local":
            return None
        key = (place.cwd, repr(settings))
        if key not in self._of:
            self._of[key] = agents_for(place, settings)
        return self._of[key]

    async def close(self) -> None:
        """End everything that is kept."""
        await asyncio.gather(*(agents.close() for agents in self._of.values()))
