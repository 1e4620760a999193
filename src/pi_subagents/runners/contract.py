"""What a supervisor needs of a place where agents run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from pi_subagents.harness import Invocation

Stream = Literal["stdout", "stderr"]


class SpawnFailed(Exception):  # noqa: N818 - an outcome of a run, not an error of the caller
    """The agent process could not be started; the text says why."""


class Sink(Protocol):
    """Receives what a process does, on the event loop's thread, in order; `on_exit` comes last and once."""

    def on_output(self, stream: Stream, data: bytes) -> None: ...

    def on_exit(self, exit_code: int) -> None: ...


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


class Runner(Protocol):
    """Starts agents somewhere."""

    async def turn(self, invocation: Invocation, is_wanted: Callable[[], bool]) -> None:
        """Wait until an agent may be started for this task, as long as it is wanted."""
        ...

    def start(self, invocation: Invocation, sink: Sink) -> Process:
        """Start an agent whose output goes to `sink`; raises SpawnFailed."""
        ...
