"""The named timers of one run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


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
