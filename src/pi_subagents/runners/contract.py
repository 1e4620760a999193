"""What a supervisor needs of a place where agents run."""

from __future__ import annotations

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

    def send(self, data: bytes) -> None:
        """Say something to an interactive agent; returns at once."""
        ...

    def close_input(self) -> None:
        """Nothing more will be said; returns at once."""
        ...

    def terminate(self) -> None:
        """Ask the agent and its group to end; returns at once."""
        ...

    def kill(self) -> None:
        """End the agent and every descendant; returns at once."""
        ...


class Runner(Protocol):
    """Starts agents somewhere."""

    def start(self, invocation: Invocation, sink: Sink) -> Process:
        """Start an agent whose output goes to `sink`; raises SpawnFailed."""
        ...
