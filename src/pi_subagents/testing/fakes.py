"""A runner without processes, where an agent is a coroutine of the test, and a loop in which time passes at once."""

from __future__ import annotations

import asyncio
import json
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeVar, TypeVarTuple

from pi_subagents.harness import Invocation
from pi_subagents.testing.records import Record

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Sink(Protocol):
    def on_output(self, stream: Literal["stdout", "stderr"], data: bytes) -> None: ...

    def on_exit(self, exit_code: int) -> None: ...


Play = Callable[["FakeProcess"], Awaitable[int]]
"""What the agent does; returns its exit code."""


class FakeProcess:
    """An agent that exists only as a coroutine. `signals` lists what it was asked, and when by the loop's clock."""

    pid = 4242
    containment = "fake"
    reused = False

    def __init__(self, invocation: Invocation, sink: _Sink, play: Play, stubborn: frozenset[str]) -> None:
        self.invocation = invocation
        self.signals: list[tuple[str, float]] = []
        self.heard: list[bytes] = []
        self.input_closed = asyncio.Event()
        self._sink = sink
        self._stubborn = stubborn
        self._gone = False
        self._life = asyncio.get_running_loop().create_task(self._live(play))

    def prints(self, *records: Record) -> None:
        """Print records, each on a line of its own, all in one chunk."""
        self.writes("".join(f"{json.dumps(record)}\n" for record in records).encode())

    def writes(self, data: bytes, stream: Literal["stdout", "stderr"] = "stdout") -> None:
        """Write bytes as they are."""
        if not self._gone:
            self._sink.on_output(stream, data)

    def send(self, data: bytes) -> None:
        """As the contract says: the agent is told something; `heard` has it."""
        self.heard.append(data)

    def close_input(self) -> None:
        """As the contract says: nothing more will be said."""
        self.input_closed.set()

    def finish(self) -> None:
        """As the contract says: the agent has settled."""
        self.close_input()

    def release(self, *, reusable: bool) -> None:
        """As the contract says: the run is over."""

    def terminate(self) -> None:
        """As the contract says: the agent is asked to end."""
        self._signal("terminate", 143)

    def kill(self) -> None:
        """As the contract says: the agent is ended."""
        self._signal("kill", 137)

    def _signal(self, name: str, exit_code: int) -> None:
        self.signals.append((name, asyncio.get_running_loop().time()))
        if name not in self._stubborn:
            self._life.cancel()
            asyncio.get_running_loop().call_soon(self._exit, exit_code)

    async def _live(self, play: Play) -> None:
        self._exit(await play(self))

    def _exit(self, exit_code: int) -> None:
        if not self._gone:
            self._gone = True
            self._sink.on_exit(exit_code)


class FakeRunner:
    """Starts fake agents. `ignores` names the requests they do not heed; `fails_with` is raised instead of a start."""

    def __init__(self, play: Play, *, ignores: tuple[str, ...] = (), fails_with: Exception | None = None) -> None:
        self.processes: list[FakeProcess] = []
        self._play = play
        self._ignores = frozenset(ignores)
        self._fails_with = fails_with

    @asynccontextmanager
    async def slot(self, invocation: Invocation) -> AsyncIterator[FakeSlot]:
        """As the contract says; there is always room."""
        yield FakeSlot(partial(self._start, invocation))

    async def close(self) -> None:
        """As the contract says; nothing is kept."""

    def _start(self, invocation: Invocation, sink: _Sink) -> FakeProcess:
        if self._fails_with is not None:
            raise self._fails_with
        process = FakeProcess(invocation, sink, self._play, self._ignores)
        self.processes.append(process)
        return process


@dataclass(frozen=True)
class FakeSlot:
    """Room for one fake agent."""

    start: Callable[[_Sink], FakeProcess]


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """Leaps to the next timer when nothing is ready; starts at zero.

    Work for threads is done on the spot, so that no real time can slip in.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Leaping(self.pass_time))

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._now

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Call the function now and return its outcome as a future."""
        outcome: asyncio.Future[T] = self.create_future()
        try:
            outcome.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - handed on to whoever awaits it
            outcome.set_exception(error)
        return outcome

    def pass_time(self, seconds: float) -> None:
        """Let time pass in which nothing can happen, as it does for a program that is stopped."""
        self._now += seconds


class _Leaping(selectors.DefaultSelector):
    def __init__(self, leap: Callable[[float], None]) -> None:
        super().__init__()
        self._leap = leap

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everything waits and no timer is set: this would hang for ever")
            self._leap(timeout)
        return ready


def run_on_virtual_clock(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end, however long it takes, in no time."""
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        return runner.run(work)
