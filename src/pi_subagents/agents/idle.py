"""The agents of a program that wait for their next task, and when they go although none has come.

They hold memory and slots of this machine for a gain that is only possible: whoever needs either comes first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator

from pi_subagents.agents.agent import AgentProcess, State
from pi_subagents.clock import now_ms
from pi_subagents.models.idle_agent import HostKind, IdleAgent
from pi_subagents.runners import MachineSlots

LOOK_S = 1.0
"""How often it is looked whether somebody else needs what idle agents have.

Not at once when one becomes idle: a task that waits here would have to start another process in its place.
"""


class IdleAgents:
    """They are in the order in which they became idle."""

    def __init__(self, host: HostKind, slots: MachineSlots | None, memory_is_short: Callable[[], bool]) -> None:
        self._host = host
        self._slots = slots
        self._memory_is_short = memory_is_short
        self._agents: list[AgentProcess] = []
        self._given_up: AgentProcess | None = None
        self._is_looking = False

    def __bool__(self) -> bool:
        return bool(self._agents)

    def __iter__(self) -> Iterator[AgentProcess]:
        return iter(list(self._agents))

    def add(self, agent: AgentProcess, idle_s: float) -> None:
        """Have an agent wait, at most that long."""
        agent.state = State.IDLE
        self._agents.append(agent)
        agent.set_timer(idle_s, lambda: self.discard(agent))
        if agent.lease is not None:
            memory = agent.weight.memory_bytes if agent.weight else 0
            agent.lease.tell_idle(IdleAgent(self._host, os.getpid(), agent.process.pid, now_ms(), memory))
        self._look_later()

    def remove(self, agent: AgentProcess) -> None:
        """It has another task, or it is gone."""
        if agent in self._agents:
            self._agents.remove(agent)
            agent.cancel_timer()
            if agent.lease is not None:
                agent.lease.tell_idle(None)

    def discard(self, agent: AgentProcess) -> None:
        """It is not needed any more."""
        self.remove(agent)
        agent.end()

    def discard_oldest(self) -> None:
        """Make room for another process of this program."""
        if self._agents:
            self.discard(self._agents[0])

    def discard_all(self) -> None:
        """None of them is wanted any more."""
        for agent in self:
            self.discard(agent)

    def _look_later(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._is_looking = False
        if self._agents and self._memory_is_short():
            self.discard_all()
        self._give_up_one()
        if self._agents:
            self._look_later()

    def _give_up_one(self) -> None:
        """Let somebody who waits for a slot have that of an idle agent, if there is one that would help."""
        if not self._agents or self._slots is None:
            return
        if self._given_up is not None and self._given_up.state is not State.ENDED:
            return  # there will be a slot in a moment
        wanted = self._slots.wanted()
        self._given_up = next((agent for agent in self if agent.lease and agent.lease.number in wanted), None)
        if self._given_up is not None:
            self.discard(self._given_up)
