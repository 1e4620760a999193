"""An event loop whose time passes at once: when nothing is ready it leaps to the next timer."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """Starts at zero. Work for threads is done on the spot, so that no real time can slip in."""

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
