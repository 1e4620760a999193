"""What a supervisor needs of a place where agents run."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Literal, Protocol

from pi_subagents.harness import Invocation
from pi_subagents.models.idle_agent import IdleAgent

Stream = Literal["stdout", "stderr"]


class SpawnFailed(Exception):  # noqa: N818 - an outcome of a run, not an error of the caller
    """The agent process could not be started; the text says why."""


class Sink(Protocol):
    """Receives what a process does, on the event loop's thread, in order; `on_exit` comes last and once."""

    def on_output(self, stream: Stream, data: bytes) -> None: ...

    def on_exit(self, exit_code: int) -> None: ...

    def on_replaced(self, pid: int, containment: str) -> None:
        """A reused process could not take on the task; a new one has it."""
        ...


class Process(Protocol):
    """A started agent with everything below it."""

    @property
    def pid(self) -> int: ...

    @property
    def containment(self) -> str:
        """What makes sure that nothing outlives the holder of the run."""
        ...

    @property
    def reused(self) -> bool:
        """Whether the process has done another task before."""
        ...

    def send(self, data: bytes) -> None:
        """Say something to an interactive agent; returns at once."""
        ...

    def close_input(self) -> None:
        """Nothing more will be said; returns at once."""
        ...

    def finish(self) -> None:
        """The agent has settled and is not needed any more for this run; its end is reported soon. Returns at once."""
        ...

    def release(self, *, reusable: bool) -> None:
        """The run is over and recorded; whether its agent may do another task."""
        ...

    def terminate(self) -> None:
        """Ask the agent and its group to end; returns at once."""
        ...

    def kill(self) -> None:
        """End the agent and every descendant; returns at once."""
        ...


class Slot(Protocol):
    """Room for one agent. Once started, the agent has it until nothing is left of it."""

    def start(self, sink: Sink) -> Process:
        """Start the agent whose output goes to `sink`; once, and raises SpawnFailed."""
        ...


class Runner(Protocol):
    """Starts agents somewhere."""

    def slot(self, invocation: Invocation) -> AbstractAsyncContextManager[Slot]:
        """Wait for a slot for this task. Whoever leaves the block without a start gives it back."""
        ...

    async def close(self) -> None:
        """End every process that has no run; those with one are their supervisors' business."""
        ...


class SlotLease(Protocol):
    """A slot on this machine, which nobody else has until it is released."""

    number: int

    def tell_idle(self, agent: IdleAgent | None) -> None:
        """Tell everybody which agent waits for its next task in this slot; None if none does."""
        ...

    def release(self) -> None: ...


class SlotRequest(Protocol):
    """Asks whoever keeps idle agents for the slot of one."""

    def repeat(self) -> None:
        """There is still no slot."""
        ...


class MachineSlots(Protocol):
    """How many agents may live on this machine, whoever starts them."""

    def take(self) -> SlotLease | None:
        """A free one, or None."""
        ...

    def request(self) -> AbstractContextManager[SlotRequest]:
        """For whoever waits for one, as long as the block lasts."""
        ...

    def wanted(self) -> range:
        """The numbers of the slots of which somebody needs any, while none of them is free."""
        ...
