"""Tells the extension how a call stands: soon after something happened, and every second for the clocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from pi_subagents.progress import Window
from pi_subagents.surfaces.bridge.patches import Patch, RunPatches, WindowPatches
from pi_subagents.surfaces.bridge.peer import Peer
from pi_subagents.surfaces.bridge.views import progress_view
from pi_subagents.tools import Update

_MIN_INTERVAL_S = 0.05
_TICK_S = 0.5
"""Clocks show seconds, and none should be missed; where nothing has changed, nothing is sent."""


class CallUpdates:
    """One call's news."""

    def __init__(self, peer: Peer, call: str) -> None:
        self._windows: Sequence[Window] = ()
        self._details: dict[str, Any] | None = None
        self._peer = peer
        self._call = call
        self._news = asyncio.Event()
        self._window_patches = WindowPatches()
        self._run_patches = RunPatches()

    def take(self, update: Update) -> None:
        """How the call stands."""
        if update.windows:
            self.take_windows(update.windows)
        else:
            self._details = update.details()
            self._news.set()

    def take_windows(self, windows: Sequence[Window]) -> None:
        """The same of a call that has windows, while it goes on and at its end."""
        self._windows = windows
        self._news.set()

    @asynccontextmanager
    async def sending(self) -> AsyncIterator[None]:
        """Send while the block runs, and at its end what is left to say: updates add up to the result."""
        work = asyncio.create_task(self._send())
        try:
            yield
        finally:
            work.cancel()
            self._tell()

    async def _send(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _TICK_S)
            self._news.clear()
            self._tell()
            # Somebody who reads slowly gets fewer and larger updates instead of a heap of them.
            await self._peer.flush()
            await asyncio.sleep(_MIN_INTERVAL_S)

    def _tell(self) -> None:
        if patch := self._patch():
            self._peer.notify("tool/update", {"call": self._call, "patch": patch})

    def _patch(self) -> Patch:
        if self._windows:
            return self._window_patches.news(self._windows)
        if self._details is not None:
            return self._run_patches.news(self._details, progress_view(self._details))
        return {}
