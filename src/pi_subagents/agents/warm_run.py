"""A run's view of an agent process that may have had a life before the run, and may have one after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from pi_subagents.harness import Invocation
from pi_subagents.jsonl import Framer
from pi_subagents.runners import Process, Sink, SpawnFailed, Stream

if TYPE_CHECKING:
    from pi_subagents.agents.pool import Agent
    from pi_subagents.store import Lease

RENEWAL_S = 5.0
"""How long a kept process may take to begin a fresh conversation; it usually takes 20 ms."""
_NOT_STARTED = 127

StartNew = Callable[[Invocation, "Lease | None"], "Agent"]


class WarmRun:
    """A process, for one run."""

    def __init__(self, agent: Agent, invocation: Invocation, sink: Sink, *, reused: bool) -> None:
        self.reused = reused
        self._agent = agent
        self._invocation = invocation
        self._sink = sink
        self._framer: Framer | None = None
        self._unsaid: list[bytes] | None = None
        self._renewal_timer: asyncio.TimerHandle | None = None
        self._start_new: StartNew | None = None
        self._spoilt = False
        self._ended = False
        agent.run = self

    @classmethod
    def on_new(cls, agent: Agent, invocation: Invocation, sink: Sink) -> WarmRun:
        """The first run of a process, which was started with the task."""
        run = cls(agent, invocation, sink, reused=False)
        run._framer = Framer()  # to learn what it is
        return run

    @classmethod
    def on_kept(cls, agent: Agent, invocation: Invocation, sink: Sink, start_new: StartNew) -> WarmRun:
        """A later run: the process is told its task when it has begun a fresh conversation."""
        run = cls(agent, invocation, sink, reused=True)
        assert invocation.renewal is not None
        run._framer, run._unsaid, run._start_new = Framer(), [invocation.stdin], start_new
        run._renewal_timer = asyncio.get_running_loop().call_later(RENEWAL_S, run._start_over)
        agent.process.send(invocation.renewal.request)
        return run

    # --- for the supervisor -------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def containment(self) -> str:
        return self._process.containment

    @property
    def _process(self) -> Process:
        return self._agent.process

    def send(self, data: bytes) -> None:
        """Say something, after the task has been told."""
        if self._unsaid is None:
            self._process.send(data)
        else:
            self._unsaid.append(data)

    def close_input(self) -> None:
        """Nothing more will be said; that is the end of the process."""
        self._spoil()
        self._process.close_input()

    def finish(self) -> None:
        """The agent has settled: where it can be kept, the run ends here and the process waits."""
        if self._agent.can_be_kept and not self._spoilt:
            asyncio.get_running_loop().call_soon(self._end, 0)
        else:
            self._process.close_input()

    def release(self, *, reusable: bool) -> None:
        """The run is recorded; the process goes back to where it came from."""
        self._cancel_renewal()
        self._agent.agents.take_back(self._agent, reusable=reusable and self._ended and not self._spoilt)

    def terminate(self) -> None:
        """Ask the process to end; it is not used again."""
        self._spoil()
        self._process.terminate()

    def kill(self) -> None:
        """End the process and every descendant."""
        self._spoil()
        self._process.kill()

    def _spoil(self) -> None:
        self._spoilt = True
        self._cancel_renewal()

    # --- what the process reports -------------------------------------------------------------------------

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Called by the agent; until the fresh conversation has begun, its output is not the run's."""
        if self._ended:
            return
        if self._unsaid is None:
            if self._framer is not None and stream == "stdout":
                self._learn(data)
            self._sink.on_output(stream, data)
        elif stream == "stdout":
            self._renew(data)

    def on_exit(self, exit_code: int) -> None:
        """Called by the agent when nothing of it is left."""
        if self._unsaid is not None and not self._spoilt:
            self._start_over()  # it died before it was told anything
        else:
            self._end(exit_code)

    def _end(self, exit_code: int) -> None:
        if not self._ended:
            self._ended = True
            self._sink.on_exit(exit_code)

    def _learn(self, data: bytes) -> None:
        assert self._framer is not None
        renewal = self._agent.renewal
        for frame in self._framer.feed(data):
            # It answers what it is before anything else happens.
            self._agent.nature = renewal.nature(frame) if renewal and isinstance(frame, bytes) else None
            self._framer = None
            return

    # --- a fresh conversation -----------------------------------------------------------------------------

    def _renew(self, data: bytes) -> None:
        assert self._framer is not None
        renewal = self._invocation.renewal
        assert renewal is not None
        for frame in self._framer.feed(data):
            if not isinstance(frame, bytes):
                continue
            verdict = renewal.heard(frame)
            if isinstance(verdict, bytes):
                self._process.send(verdict)
            elif verdict and renewal.nature(frame) == self._agent.nature:
                return self._tell()
            else:  # no fresh conversation, or with another model than it was started with
                return self._start_over()
        return None

    def _tell(self) -> None:
        self._cancel_renewal()
        unsaid, self._unsaid, self._framer = self._unsaid or [], None, None
        for data in unsaid:
            self._process.send(data)

    def _start_over(self) -> None:
        """Another process takes the place of one that could not be renewed."""
        self._cancel_renewal()
        assert self._start_new is not None
        old, self._unsaid, self._framer = self._agent, None, Framer()
        old.run = None
        old.end()
        try:
            self._agent = self._start_new(self._invocation, None)
        except SpawnFailed as failure:
            self._sink.on_output("stderr", str(failure).encode())
            self._end(_NOT_STARTED)
            return
        self._agent.run = self
        self.reused = False

    def _cancel_renewal(self) -> None:
        if self._renewal_timer is not None:
            self._renewal_timer.cancel()
            self._renewal_timer = None
