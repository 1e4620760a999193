"""The agents of a host that stays up, such as `pi` or an MCP server: they are kept from one call to the next."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi_subagents.agents.pool import AgentPool, pool_for
from pi_subagents.models.idle_agent import HostKind
from pi_subagents.place import Place
from pi_subagents.runners import Runner
from pi_subagents.settings import Settings


class SharedAgents:
    """The agents of a host that makes calls from several places, as long as the settings there say to keep any.

    What an agent was started with tells for which calls it will do, their directory included: all places share a pool,
    unless their settings ask for another one.
    """

    def __init__(self, host: HostKind) -> None:
        self._host = host
        self._pools: dict[_Terms, AgentPool] = {}
        self._used_at: dict[Path, AgentPool] = {}

    def at(self, place: Place) -> Runner | None:
        """The agents for calls from a place; None where each call has its own."""
        pool = self._pool(place)
        before = self._used_at.pop(place.cwd, None)
        if before is not None and before is not pool:
            before.discard_idle()  # kept for longer, or otherwise contained, than is wanted now
        if pool is not None:
            self._used_at[place.cwd] = pool
        return pool

    def _pool(self, place: Place) -> AgentPool | None:
        settings = place.settings()
        terms = _terms(place, settings)
        if terms is None:
            return None
        if terms not in self._pools:
            self._pools[terms] = pool_for(place, settings, self._host)
        return self._pools[terms]

    async def close(self) -> None:
        """End everything that is kept."""
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))


_Terms = tuple[Path, str, float, int, int | None]


def _terms(place: Place, settings: Settings) -> _Terms | None:
    """Everything in the settings that a pool is made from; None if there is to be none."""
    if not settings.warm_agents or settings.runner != "local":
        return None
    return (
        place.agent_dir,
        settings.containment,
        settings.warm_idle_s,
        settings.warm_max_memory_mb,
        settings.max_processes,
    )
