"""How a process is stopped: asked in its own protocol where it has a request for that, then by signals.

Timers, not a task: a task could be cancelled half-way, and leave a process behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pi_subagents.runners import Process


class Timers:
    """Setting a timer that is already running leaves it as it is."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.TimerHandle] = {}

    def set(self, name: str, delay_s: float, action: Callable[[], None]) -> None:
        """Do `action` once, after a while."""
        if name not in self._running:
            self._running[name] = asyncio.get_running_loop().call_later(max(0.0, delay_s), self._fire, name, action)

    def cancel(self, name: str) -> None:
        """Forget a timer, if it is running."""
        if timer := self._running.pop(name, None):
            timer.cancel()

    def cancel_all(self) -> None:
        """Forget every timer."""
        for name in list(self._running):
            self.cancel(name)

    def _fire(self, name: str, action: Callable[[], None]) -> None:
        self._running.pop(name, None)
        action()


ABORT_GRACE_S = 1.0
"""How long an agent that can be asked in its own protocol may take before it is sent a signal."""
STOP_GRACE_S = 5.0
"""From the polite signal to the kill, as documented."""
REAP_S = 5.0
"""How long the kernel may take to end what was killed; longer means a process stuck in the kernel."""


class Stopping:
    """One process on its way out. `request` asks it to stop by itself; `give_up` is called if even a kill does not."""

    def __init__(self, request: Callable[[], bytes], timers: Timers, give_up: Callable[[Process], None]) -> None:
        self.has_begun = False
        self._request = request
        self._timers = timers
        self._give_up = give_up

    def begin(self, process: Process) -> None:
        """Take the first step; the others follow by themselves, unless the timers are cancelled. Once is enough."""
        if self.has_begun:
            return
        self.has_begun = True
        if not (request := self._request()):
            self._terminate(process)
            return
        process.send(request)
        self._timers.set("terminate", ABORT_GRACE_S, lambda: self._hurry(process))

    def _hurry(self, process: Process) -> None:
        """Terminate it: it had time to settle, and to see that its input is closed."""
        process.close_input()
        self._terminate(process)

    def _terminate(self, process: Process) -> None:
        process.terminate()
        self._timers.set("kill", STOP_GRACE_S, lambda: self._kill(process))

    def _kill(self, process: Process) -> None:
        process.kill()
        self._timers.set("reap", REAP_S, lambda: self._give_up(process))
