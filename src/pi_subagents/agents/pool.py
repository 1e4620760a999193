"""The agent processes of this program: started when they are needed, kept for the next task where that is safe.

Only a process whose run was completed is kept, and only if nothing of the run is left in it that a fresh conversation
does not undo.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path

import msgspec

from pi_subagents.agents.agent import AgentProcess, Handle, Starter, State
from pi_subagents.agents.idle import IdleAgents
from pi_subagents.agents.instructions import Instructions
from pi_subagents.agents.memory import memory_is_short
from pi_subagents.agents.starting import STARTING_S, Outlook
from pi_subagents.harness import Invocation
from pi_subagents.models import MAX_CONCURRENCY
from pi_subagents.models.idle_agent import HostKind
from pi_subagents.place import Place
from pi_subagents.runners import (
    LocalRunner,
    MachineSlots,
    Process,
    Runner,
    Sink,
    SlotLease,
    SlotRequest,
    choose_mechanism,
    room_for_agents,
)
from pi_subagents.settings import Settings
from pi_subagents.store import ProcessSlots

_LOOK_AGAIN_S = 0.1
_CLOSE_S = 6.0


def agents_for(place: Place, settings: Settings) -> Runner:
    """Where a program starts its agents, for all its delegations; it closes it at its end."""
    if settings.warm_agents:
        return pool_for(place, settings, "run")
    return LocalRunner(choose_mechanism(settings.containment), _slots_for(place, settings))


def pool_for(place: Place, settings: Settings, host: HostKind) -> AgentPool:
    """Agents that are kept, as the settings say."""
    keeping = Keeping(settings.warm_idle_s, settings.warm_max_memory_mb * 1_000_000)
    runner = LocalRunner(choose_mechanism(settings.containment))
    return AgentPool(runner, keeping, slots=_slots_for(place, settings), host=host)


def _slots_for(place: Place, settings: Settings) -> ProcessSlots | None:
    return ProcessSlots.of(place.agent_dir, settings.max_processes or room_for_agents())


class Keeping(msgspec.Struct, frozen=True):
    """When a process is kept: how long without work, and up to which memory."""

    idle_s: float
    max_memory_bytes: int
    limit: int = MAX_CONCURRENCY
    """With this many processes, one that is idle goes before another is started."""


class _PoolSlot(msgspec.Struct):
    """A kept agent, or the right to start one."""

    pool: AgentPool
    invocation: Invocation
    agent: AgentProcess | None = None
    lease: SlotLease | None = None
    is_used: bool = False

    def start(self, sink: Sink) -> Process:
        """The kept agent, unless it has died since, or a new one; raises SpawnFailed."""
        self.is_used = True
        is_kept = self.agent is not None and self.agent.state is State.IDLE
        agent = self.agent if is_kept and self.agent else self.pool.start_new(self.invocation, self.lease)
        handle = Handle(agent, self.invocation, sink)
        handle.begin()
        return handle

    def give_back(self) -> None:
        """Nothing was started."""
        if self.agent is not None:
            self.pool.keep(self.agent)
        if self.lease is not None:
            self.lease.release()


class AgentPool:
    """A runner on top of a runner. Without `slots` there is no bound on the machine."""

    def __init__(
        self,
        starter: Starter,
        keeping: Keeping,
        *,
        slots: MachineSlots | None = None,
        cores: int | None = None,
        host: HostKind = "run",
        memory_is_short: Callable[[], bool] = memory_is_short,
    ) -> None:
        self.starter = starter
        self.instructions = Instructions()
        self._keeping = keeping
        self._slots = slots
        self._cores = cores or len(os.sched_getaffinity(0))
        self._agents: set[AgentProcess] = set()
        self._idle = IdleAgents(host, slots, memory_is_short)
        self._first_ready_at: dict[str, float] = {}
        self._is_closed = False
        self._change = asyncio.Event()

    # --- for supervisors ----------------------------------------------------------------------------------

    @asynccontextmanager
    async def slot(self, invocation: Invocation) -> AsyncIterator[_PoolSlot]:
        """Wait until an agent for this task is free, or one may be started."""
        slot = await self._wait_for_slot(invocation)
        try:
            yield slot
        finally:
            if not slot.is_used:
                slot.give_back()

    async def close(self) -> None:
        """End every agent that has no run."""
        self._is_closed = True
        kept = [agent for agent in self._agents if agent.handle is None]
        for agent in kept:
            self._idle.discard(agent)
        deadline = asyncio.get_running_loop().time() + _CLOSE_S
        while self._agents.intersection(kept) and asyncio.get_running_loop().time() < deadline:
            await self._wait_for_change()
        self.instructions.close()

    def discard_idle(self) -> None:
        """End every agent that waits; those with a run go on."""
        self._idle.discard_all()

    # --- for agents ---------------------------------------------------------------------------------------

    def surroundings(self, invocation: Invocation) -> Mapping[Path, str] | None:
        """What a process reads only once, as it is now; None if an agent for this task cannot be kept."""
        return invocation.renewal.surroundings() if invocation.renewal and not self._is_closed else None

    def start_new(self, invocation: Invocation, lease: SlotLease | None) -> AgentProcess:
        """Start a process; raises SpawnFailed, and then the lease is free again.

        Without one, because the agent that should have had the task died with its own, it has any that is free.
        """
        if lease is None and self._slots is not None:
            lease = self._slots.take()
        try:
            agent = AgentProcess(self, invocation, lease)
        except BaseException:
            if lease is not None:
                lease.release()
            raise
        self._agents.add(agent)
        return agent

    def take_back(self, agent: AgentProcess, *, reusable: bool) -> None:
        """A run is over; its agent is kept or ended."""
        if agent.state is State.ENDED:
            return
        if reusable and not self._is_closed and self._is_clean(agent):
            self.keep(agent)
        else:
            agent.end()

    def keep(self, agent: AgentProcess) -> None:
        """Have an agent wait for its next run, for a while."""
        if not agent.can_be_kept:
            return
        self._idle.add(agent, self._keeping.idle_s)
        self.changed(agent)

    def changed(self, agent: AgentProcess) -> None:
        """Somebody who waits may have a slot now."""
        if agent.renewal is not None:
            self._first_ready_at.setdefault(agent.renewal.fingerprint, asyncio.get_running_loop().time())
        self._notify()

    def forget(self, agent: AgentProcess) -> None:
        """Nothing is left of an agent."""
        self._agents.discard(agent)
        self._idle.remove(agent)
        self._notify()

    # --- who gets what ------------------------------------------------------------------------------------

    async def _wait_for_slot(self, invocation: Invocation) -> _PoolSlot:
        since = asyncio.get_running_loop().time()
        with self._request() as request:
            while True:
                look_again_s = _LOOK_AGAIN_S
                if (agent := self._kept_for(invocation)) is not None:
                    return _PoolSlot(self, invocation, agent=agent)
                if (outlook := self._outlook(invocation, since)) is not None and not outlook.may_start:
                    look_again_s = min(_LOOK_AGAIN_S, outlook.look_again_s)
                elif self._slots is None or request is None:
                    return self._slot_for_new(invocation, None)
                elif (lease := self._slots.take()) is not None:
                    return self._slot_for_new(invocation, lease)
                elif self._idle:  # one of ours that does nothing has the slot that is needed
                    self._idle.discard_oldest()
                else:
                    request.repeat()
                await self._wait_for_change(look_again_s)

    def _request(self) -> AbstractContextManager[SlotRequest | None]:
        return self._slots.request() if self._slots is not None else nullcontext()

    def _slot_for_new(self, invocation: Invocation, lease: SlotLease | None) -> _PoolSlot:
        if len(self._agents) >= self._keeping.limit:
            self._idle.discard_oldest()
        return _PoolSlot(self, invocation, lease=lease)

    def _kept_for(self, invocation: Invocation) -> AgentProcess | None:
        if invocation.renewal is None or self._is_closed:
            return None
        for agent in self._alike(self._idle, invocation.renewal.fingerprint):
            self._idle.remove(agent)
            if agent.surroundings == invocation.renewal.surroundings() and agent.is_unchanged():
                return agent
            agent.end()
        return None

    def _outlook(self, invocation: Invocation, since: float) -> Outlook | None:
        """What there is to know before a process is started for a task; None: it needs one of its own."""
        if invocation.renewal is None or self._is_closed:
            return None
        now, fingerprint = asyncio.get_running_loop().time(), invocation.renewal.fingerprint
        alike = self._alike(self._agents, fingerprint)
        soon_free = [agent for agent in alike if agent.state is not State.NEW and agent.can_be_kept]
        return Outlook(
            cores=self._cores,
            starting=sum(agent.state is State.NEW and now - agent.heard_at < STARTING_S for agent in self._agents),
            silences_s=tuple(now - agent.heard_at for agent in soon_free if not agent.has_settled),
            waited_s=now - max(since, self._first_ready_at.get(fingerprint, now)),
            settled=sum(agent.has_settled for agent in soon_free),
        )

    def _alike(self, agents: Iterable[AgentProcess], fingerprint: str) -> list[AgentProcess]:
        return [agent for agent in agents if agent.renewal and agent.renewal.fingerprint == fingerprint]

    def _is_clean(self, agent: AgentProcess) -> bool:
        if not agent.can_be_kept or agent.weight_at_first is None or agent.identity is None:
            return False
        now = agent.weight = agent.process.weigh()
        left_behind = now.processes - agent.weight_at_first.processes
        return not left_behind and now.memory_bytes <= self._keeping.max_memory_bytes

    async def _wait_for_change(self, at_most_s: float = _LOOK_AGAIN_S) -> None:
        """Until something has changed here; slots are also taken and freed elsewhere, so not for long."""
        # Not `wait_for`: in Python 3.11 it can swallow the cancellation of a run that is stopped at this moment.
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await self._change.wait()

    def _notify(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()
