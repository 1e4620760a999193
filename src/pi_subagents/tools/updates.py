"""Tells a caller how its call stands, no oftener than people can read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pi_subagents.tools.contract import Details, OnUpdate

UPDATE_INTERVAL_S = 0.05
"""Output can come in thousands of events a second; nobody reads faster than this."""


class Updates:
    """Gathers changes for a moment and then tells them all at once; without a listener it does nothing."""

    def __init__(self, on_update: OnUpdate | None, details: Callable[[], Details]) -> None:
        self._on_update = on_update
        self._details = details
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Something is new."""
        if self._on_update is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_INTERVAL_S, self._tell)

    async def see_through(self, work: Awaitable[Any], *, answer_when_cancelled: bool) -> bool:
        """Wait for the end of a call's work; whether it was cancelled, for a caller who wants an answer even then."""
        try:
            await work
        except asyncio.CancelledError:
            if not answer_when_cancelled:
                raise
            return True
        finally:
            self._close()
        return False

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        self._timer = None
        if self._on_update is not None:
            self._on_update(self._details())
