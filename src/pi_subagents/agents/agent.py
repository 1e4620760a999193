"""One agent process that may work for several runs, one after the other, and a run's handle on it.

Before another run is told to it, a process must confirm that it has begun a fresh conversation; if it does not, it is
ended and another one started in its place. A supervisor sees no difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from pi_subagents.harness import Invocation
from pi_subagents.jsonl import Framer
from pi_subagents.runners import Footprint, Process, Sink, SlotLease, SpawnFailed, Stream

if TYPE_CHECKING:
    from pi_subagents.agents.pool import AgentPool

RENEWAL_S = 5.0
"""How long a kept process may take to begin a fresh conversation; it usually takes 20 ms."""
_NOT_STARTED = 127


class State(StrEnum):
    """What an agent does. It goes from top to bottom, and from idle back to renewing."""

    NEW = "new"
    """Starting; it has not been told its task, unless it is for this one alone."""
    RENEWING = "renewing"
    """Beginning a fresh conversation; it has not been told its task."""
    BUSY = "busy"
    """At work for a run."""
    IDLE = "idle"
    """Kept for the next run."""
    ENDING = "ending"
    """It is not used again."""
    ENDED = "ended"
    """Nothing is left of it."""


class WeighedProcess(Process, Protocol):
    """A process that can tell what it takes."""

    def weigh(self) -> Footprint: ...

    def drain(self) -> None:
        """Deliver what it has written by now."""
        ...


class Starter(Protocol):
    """Starts such processes."""

    def start(self, invocation: Invocation, sink: Sink) -> WeighedProcess: ...


class AgentProcess:
    """One process with everything below it, and the handle of the run that it works for.

    Where it can be kept, no run is named to it when it is started: the first one too is told to it afterwards.
    """

    def __init__(self, owner: AgentPool, invocation: Invocation, lease: SlotLease | None) -> None:
        self.owner = owner
        self.state = State.NEW
        self.handle: Handle | None = None
        self.identity: str | None = None
        self.weight_at_first: Footprint | None = None
        self.weight: Footprint | None = None
        """What it took when it was last looked at."""
        self.lease = lease
        """Its slot on this machine, until nothing is left of it or another process has taken its place."""
        self.surroundings = owner.surroundings(invocation)
        self.renewal = invocation.renewal if self.surroundings is not None else None
        self.heard_at = asyncio.get_running_loop().time()
        """When it last said something, or was told something new."""
        self.has_settled = False
        """It is done with its task, and free as soon as that is recorded."""
        self._invocation = invocation
        self._timer: asyncio.TimerHandle | None = None
        self._folder = Path("/")
        self.first_conversation: Path | None = None
        """Where it was told to keep it, under a name that does not tell the run; None once that is over."""
        try:
            self.process = owner.starter.start(self._nameless(invocation), self)
        except BaseException:
            self.forget_first_run()
            raise

    @property
    def can_be_kept(self) -> bool:
        """Whether it is sound, and nothing around it speaks against another task."""
        return self.surroundings is not None and self.state not in (State.ENDING, State.ENDED)

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Called by the process; what it says while it has no run is nobody's business."""
        self.heard_at = asyncio.get_running_loop().time()
        if self.state is State.NEW and self.renewal is None and stream == "stdout":
            self.state = State.BUSY
            self.owner.changed(self)
        if self.handle is not None:
            self.handle.on_output(stream, data)

    def on_exit(self, exit_code: int) -> None:
        """Called by the process when nothing of it is left."""
        was, self.state = self.state, State.ENDED
        self.cancel_timer()
        self.forget_first_run()
        self.owner.forget(self)
        if self.handle is not None:
            self.handle.on_exit(exit_code, untold=was is State.RENEWING)
        if self.lease is not None:
            self.lease.release()

    def on_replaced(self, pid: int, containment: str) -> None:
        """A process below is never another one."""

    def end(self) -> None:
        """Let it go: it has no run, so there is nothing to wait for."""
        if self.state is not State.ENDED:
            self.state = State.ENDING
            self.process.kill()

    def forget_first_run(self) -> None:
        """Its first task is over: nothing leads to the record of that any more, or it gets no other."""
        if self.first_conversation is not None:
            try:
                self.first_conversation.unlink(missing_ok=True)
            except OSError:
                self.surroundings = None
            self.first_conversation = None

    def set_timer(self, delay_s: float, action: Callable[[], None]) -> None:
        """At most one thing is waited for at a time."""
        self.cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(delay_s, action)

    def cancel_timer(self) -> None:
        """Nothing is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def is_unchanged(self) -> bool:
        """Whether its instructions, which it will read again, still say the same."""
        instructions = self.renewal.instructions if self.renewal else {}
        try:
            return all((self._folder / name).read_bytes() == content for name, content in instructions.items())
        except OSError:
            return False

    def is_fresh(self, identity: str | None) -> bool:
        """Called when it has begun a fresh conversation; whether it is what it said the first time."""
        if self.state is not State.NEW:
            return identity == self.identity
        self.identity = identity
        before, self.surroundings = self.surroundings, self.owner.surroundings(self._invocation)
        # What it made itself is no change; what was changed while it started, it may have read before or after.
        if before is None or self.surroundings is None or not before.items() <= self.surroundings.items():
            self.surroundings = None
        self.weight_at_first = self.process.weigh() if self.can_be_kept else None
        self.owner.changed(self)
        return True

    def _nameless(self, invocation: Invocation) -> Invocation:
        """How to start a process that could work for any run of this kind; as for this run alone where that fails."""
        if self.renewal is None:
            return invocation
        try:
            self._folder = self.owner.instructions.folder_for(self.renewal)
            conversation = self.owner.instructions.name_for(self.renewal.conversation_file)
        except OSError:
            self.renewal = self.surroundings = None
            return invocation
        self.first_conversation = conversation
        return replace(invocation, argv=self.renewal.command(self._folder, conversation), stdin=b"")


class Handle:
    """A process, as the run that it works for at the moment sees it."""

    def __init__(self, agent: AgentProcess, invocation: Invocation, sink: Sink) -> None:
        self.reused = False
        self._agent = agent
        self._invocation = invocation
        self._sink = sink
        self._untold: list[bytes] = []
        """The task and what was said since, while the process begins a fresh conversation."""
        self._framer = Framer()
        self._ended = False
        agent.handle = self
        agent.has_settled = False

    def begin(self) -> None:
        """Have the process begin a fresh conversation; it is told its task when it has."""
        self._untold = [self._invocation.stdin]
        if self._agent.state is State.IDLE:
            self.reused = True
            self._agent.state = State.RENEWING
            self._agent.heard_at = asyncio.get_running_loop().time()
            self._agent.set_timer(RENEWAL_S, self._start_over)
        self._request()

    def _request(self) -> None:
        if self._agent.renewal is None:  # it was started with its task
            del self._untold[0]
            self._send_untold()
        elif self._invocation.renewal is not None:
            renewal = self._invocation.renewal
            self._agent.process.send(renewal.question if self._agent.state is State.NEW else renewal.request)

    # --- for the supervisor -------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        return self._agent.process.pid

    @property
    def containment(self) -> str:
        return self._agent.process.containment

    def send(self, data: bytes) -> None:
        """Say something, after the task has been told."""
        if self._untold:
            self._untold.append(data)
        else:
            self._agent.process.send(data)

    def close_input(self) -> None:
        """Nothing more will be said; that is the end of the process."""
        self._spoil()
        self._agent.process.close_input()

    def finish(self) -> None:
        """The agent has settled: where it can be kept, the run ends here and the process waits."""
        self._agent.has_settled = True
        if self._agent.can_be_kept:
            asyncio.get_running_loop().call_soon(self._settle)
        else:
            self._agent.process.close_input()

    def release(self, *, reusable: bool) -> None:
        """The run is recorded; the process goes back to where it came from."""
        self._agent.handle = None
        self._agent.forget_first_run()
        self._agent.cancel_timer()
        self._agent.owner.take_back(self._agent, reusable=reusable and self._ended)

    def terminate(self) -> None:
        """Ask the process to end; it is not used again."""
        self._spoil()
        self._agent.process.terminate()

    def kill(self) -> None:
        """End the process and every descendant."""
        self._spoil()
        self._agent.process.kill()

    def _spoil(self) -> None:
        self._agent.cancel_timer()
        if self._agent.state is not State.ENDED:
            self._agent.state = State.ENDING

    # --- what the process reports -------------------------------------------------------------------------

    def on_output(self, stream: Stream, data: bytes) -> None:
        """Called by the agent; until the fresh conversation has begun, its output is not the run's."""
        if self._ended:
            return
        if not self._untold or (stream == "stderr" and self._agent.state is State.NEW):
            self._sink.on_output(stream, data)
        elif stream == "stdout" and self._agent.state in (State.NEW, State.RENEWING):
            self._renew(data)

    def on_exit(self, exit_code: int, *, untold: bool) -> None:
        """Called by the agent when nothing of it is left."""
        if untold:
            self._start_over()
        else:
            self._end(exit_code)

    def _settle(self) -> None:
        # What it complained of before it settled may still be in the other pipe, and belongs to this run.
        self._agent.process.drain()
        self._end(0)

    def _end(self, exit_code: int) -> None:
        if not self._ended:
            self._ended = True
            self._sink.on_exit(exit_code)

    # --- a fresh conversation -----------------------------------------------------------------------------

    def _renew(self, data: bytes) -> None:
        renewal = self._invocation.renewal
        assert renewal is not None
        for frame in self._framer.feed(data):
            if not isinstance(frame, bytes):
                continue
            verdict = renewal.heard(frame, self._agent.first_conversation or renewal.conversation_file)
            if isinstance(verdict, bytes):
                self._agent.process.send(verdict)
                if not verdict and self._agent.state is State.NEW:  # what it says of itself when it starts
                    self._sink.on_output("stdout", frame + b"\n")
            elif verdict and self._agent.is_fresh(renewal.identity(frame)):
                return self._tell()
            else:  # no fresh conversation, or with another model than it was started with
                return self._start_over()
        return None

    def _tell(self) -> None:
        self._agent.cancel_timer()
        self._agent.state = State.BUSY
        self._agent.heard_at = asyncio.get_running_loop().time()
        self._send_untold()

    def _send_untold(self) -> None:
        untold, self._untold = self._untold, []
        for data in untold:
            self._agent.process.send(data)

    def _start_over(self) -> None:
        """Another process takes over from one that could not be renewed, or one of its own for a kind that cannot."""
        old, invocation = self._agent, self._invocation
        if old.state is State.NEW:
            invocation = replace(invocation, renewal=None)
        old.handle = None
        old.end()
        self._framer = Framer()
        lease, old.lease = old.lease, None
        try:
            self._agent = old.owner.start_new(invocation, lease)
        except SpawnFailed as failure:
            self._sink.on_output("stderr", str(failure).encode())
            self._end(_NOT_STARTED)
            return
        self._agent.handle = self
        self.reused = False
        self._sink.on_replaced(self.pid, self.containment)
        self._request()
