"""The agent processes of this program: started when they are needed, kept for the next task where that is safe.

A supervisor sees no difference. A kept process is given a fresh conversation, which it must confirm before it is told
the next task; if it does not, it is ended and another one started in its place. Only a process whose run was completed
is kept, and only if nothing of the run is left in it that a fresh conversation does not undo.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pi_subagents.agents.warm_run import WarmRun
from pi_subagents.harness import Invocation
from pi_subagents.models import MAX_CONCURRENCY
from pi_subagents.runners import Footprint, Process, Sink, SpawnFailed, Stream
from pi_subagents.store import Lease

PATIENCE_S = 0.25
"""A new process costs half a second of CPU; one that is about to be free is worth waiting for so long."""
_LOOK_AGAIN_S = 0.1
_END_GRACE_S = 1.0
_CLOSE_S = 6.0


class LocalProcess(Process, Protocol):
    """A process whose weight can be taken."""

    def weigh(self) -> Footprint: ...


class LocalStarter(Protocol):
    """Starts such processes."""

    def start(self, invocation: Invocation, sink: Sink) -> LocalProcess: ...


class Places(Protocol):
    """How many agents may live on this machine."""

    def take(self) -> Lease | None: ...


@dataclass(frozen=True)
class Keeping:
    """When a process is kept: how long without work, up to which memory, and whether its surroundings allow it.

    `surroundings` tells what a process reads only once, as it is now; None if agents there cannot be kept.
    """

    idle_s: float
    max_memory_bytes: int
    surroundings: Callable[[Invocation], Mapping[Path, str] | None]
    limit: int = MAX_CONCURRENCY
    """Where there are so many processes, one that is idle goes before another is started."""


class Agent:
    """One process with everything below it, and the run it works for at the moment."""

    def __init__(self, agents: Agents, invocation: Invocation, place: Lease | None) -> None:
        self.agents = agents
        self.renewal = invocation.renewal
        self._invocation = invocation
        self.surroundings = self._look_around()
        self.nature: str | None = None
        self.run: WarmRun | None = None
        self.is_ready = False
        self.is_gone = False
        self._place = place
        self._timer: asyncio.TimerHandle | None = None
        self.process = agents.runner.start(invocation, self)
        self.at_first: Footprint | None = None

    @property
    def can_be_kept(self) -> bool:
        return self.surroundings is not None and not self.is_gone

    def _look_around(self) -> Mapping[Path, str] | None:
        keeping = self.agents.keeping
        return keeping.surroundings(self._invocation) if keeping and self.renewal else None

    def _ready(self) -> None:
        self.is_ready = True
        before, self.surroundings = self.surroundings, self._look_around()
        # What it made itself is no change; what was changed while it started, it may have read before or after.
        if before is None or self.surroundings is None or not before.items() <= self.surroundings.items():
            self.surroundings = None
        self.at_first = self.process.weigh() if self.can_be_kept else None
        self.agents.changed(self)

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Called by the process; what it says while it has no run is nobody's business."""
        if not self.is_ready and stream == "stdout":
            self._ready()
        if self.run is not None:
            self.run.on_output(stream, data)

    def on_exit(self, exit_code: int) -> None:
        """Called by the process when nothing of it is left."""
        self.is_gone = True
        self.cancel_timer()
        if self._place is not None:
            self._place.release()
        self.agents.forget(self)
        if self.run is not None:
            self.run.on_exit(exit_code)

    def end(self) -> None:
        """Let it go: it has no run, so there is nothing to wait for."""
        if not self.is_gone:
            self.process.close_input()
            self.set_timer(_END_GRACE_S, self.process.kill)

    def set_timer(self, delay_s: float, action: Callable[[], None]) -> None:
        """At most one thing is waited for at a time."""
        self.cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(delay_s, action)

    def cancel_timer(self) -> None:
        """Nothing is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Agents:
    """A runner. Without `keeping` every task gets a process of its own; without `places` as many as there are tasks."""

    def __init__(
        self,
        runner: LocalStarter,
        *,
        keeping: Keeping | None = None,
        places: Places | None = None,
        starts_at_once: int | None = None,
    ) -> None:
        self.runner = runner
        self.keeping = keeping
        self._places = places
        self._starts_at_once = starts_at_once or len(os.sched_getaffinity(0))
        self._all: set[Agent] = set()
        self._idle: list[Agent] = []
        self._promised: dict[int, Agent | Lease | None] = {}
        self._starts_promised = 0
        self._first_ready_at: dict[str, float] = {}
        self._change = asyncio.Event()

    # --- for supervisors ----------------------------------------------------------------------------------

    async def turn(self, invocation: Invocation, is_wanted: Callable[[], bool]) -> None:
        """Wait until there is a process for this task or one may be started, as long as it is wanted."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        while is_wanted():
            if (agent := self._kept_for(invocation)) is not None:
                self._promised[id(invocation)] = agent
                return
            if self._may_start(invocation, since) and self._take_place(invocation):
                self._starts_promised += 1
                if self._idle and self.keeping and len(self._all) >= self.keeping.limit:
                    self._discard(self._idle[0])
                return
            await self._wait_for_change()

    def start(self, invocation: Invocation, sink: Sink) -> Process:
        """The process that the task was promised, or a new one; raises SpawnFailed."""
        promised = self._promised.pop(id(invocation), None)
        if isinstance(promised, Agent):
            if not promised.is_gone:
                return WarmRun.on_kept(promised, invocation, sink, self._start_new)
            promised = None
        self._starts_promised = max(0, self._starts_promised - 1)
        try:
            return WarmRun.on_new(self._start_new(invocation, promised), invocation, sink)
        except SpawnFailed:
            if promised is not None:
                promised.release()
            raise

    async def close(self) -> None:
        """End everything that is kept; processes with a run are their supervisors' business."""
        self.keeping = None
        kept = [agent for agent in self._all if agent.run is None]
        for agent in kept:
            agent.end()
        deadline = asyncio.get_running_loop().time() + _CLOSE_S
        while any(not agent.is_gone for agent in kept) and asyncio.get_running_loop().time() < deadline:
            await self._wait_for_change()

    # --- for agents ---------------------------------------------------------------------------------------

    def take_back(self, agent: Agent, *, reusable: bool) -> None:
        """A run is over; its process is kept or ended."""
        agent.run = None
        if agent.is_gone:
            return
        if not (reusable and self.keeping is not None and self._is_clean(agent, self.keeping)):
            agent.end()
            return
        self._idle.append(agent)
        agent.set_timer(self.keeping.idle_s, lambda: self._discard(agent))
        self.changed(agent)

    def changed(self, agent: Agent) -> None:
        """Somebody who waits may have a turn now."""
        if agent.renewal is not None:
            self._first_ready_at.setdefault(agent.renewal.likeness, asyncio.get_running_loop().time())
        self._notify()

    def forget(self, agent: Agent) -> None:
        """A process is gone."""
        self._all.discard(agent)
        if agent in self._idle:
            self._idle.remove(agent)
        self._notify()

    async def _wait_for_change(self) -> None:
        """Until something has changed here; places are also taken and freed elsewhere, so not for long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._change.wait(), _LOOK_AGAIN_S)

    def _notify(self) -> None:
        change, self._change = self._change, asyncio.Event()
        change.set()

    def _start_new(self, invocation: Invocation, place: Lease | None) -> Agent:
        agent = Agent(self, invocation, place)
        self._all.add(agent)
        return agent

    # --- who gets what ------------------------------------------------------------------------------------

    def _kept_for(self, invocation: Invocation) -> Agent | None:
        renewal, keeping = invocation.renewal, self.keeping
        if renewal is None or keeping is None:
            return None
        for agent in [one for one in self._idle if one.renewal and one.renewal.likeness == renewal.likeness]:
            self._idle.remove(agent)
            agent.cancel_timer()
            if agent.surroundings == keeping.surroundings(invocation) and _is_unchanged(agent):
                return agent
            agent.end()
        return None

    def _may_start(self, invocation: Invocation, since: float) -> bool:
        if self.keeping is None or invocation.renewal is None:
            return True
        likeness = invocation.renewal.likeness
        alike = [agent for agent in self._all if agent.renewal and agent.renewal.likeness == likeness]
        starting = self._starts_promised + sum(not agent.is_ready for agent in self._all)
        if starting >= self._starts_at_once:
            return False
        if not any(agent.is_ready and agent.can_be_kept for agent in alike):
            return True
        waits_since = max(since, self._first_ready_at[likeness])
        return asyncio.get_running_loop().time() - waits_since >= PATIENCE_S

    def _take_place(self, invocation: Invocation) -> bool:
        if self._places is None:
            return True
        if (place := self._places.take()) is not None:
            self._promised[id(invocation)] = place
            return True
        if self._idle:  # one of ours that does nothing takes the place that is needed
            self._discard(self._idle[0])
        return False

    def _discard(self, agent: Agent) -> None:
        if agent in self._idle:
            self._idle.remove(agent)
        agent.end()

    def _is_clean(self, agent: Agent, keeping: Keeping) -> bool:
        if not agent.can_be_kept or agent.at_first is None or agent.nature is None:
            return False
        now = agent.process.weigh()
        return now.processes <= agent.at_first.processes and now.memory_bytes <= keeping.max_memory_bytes


def _is_unchanged(agent: Agent) -> bool:
    """Whether the files it was started with, which it will read again, still say the same."""
    reads = agent.renewal.reads if agent.renewal else {}
    try:
        return all(path.read_bytes() == content for path, content in reads.items())
    except OSError:
        return False
