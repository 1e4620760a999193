"""Tells a client how a long call stands, in words: soon after something happened, and now and then in any case.

Clients give up on a call that is silent for long, and choke on one that never is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from pi_subagents.text import duration
from pi_subagents.tools import OnProgress, Progress, Spoken

MIN_INTERVAL_S = 0.25
MAX_INTERVAL_S = 10.0

Send = Callable[[float, str], Awaitable[None]]
"""Takes the seconds since the call began, which grow as the protocol demands, and the words."""


class Reporter:
    """Keeps the latest words until it is time to send them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._words = "Starting"
        self._news = asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()

    def take(self, progress: Progress) -> None:
        """There is something new."""
        if isinstance(progress, Spoken):
            self._words = progress.line
            self._news.set()

    async def run(self) -> None:
        """Send for ever; whoever started it ends it with the call."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), MAX_INTERVAL_S)
            is_news = self._news.is_set()
            self._news.clear()
            elapsed = self._clock() - self._began
            words = self._words if is_news else f"{self._words} ({duration(elapsed)})"
            await self._send(elapsed, words)
            await asyncio.sleep(MIN_INTERVAL_S)


@asynccontextmanager
async def reporting(send: Send | None) -> AsyncIterator[OnProgress | None]:
    """Who hears of a call's progress; None for a client that did not ask."""
    if send is None:
        yield None
        return
    reporter = Reporter(send)
    sending = asyncio.create_task(reporter.run())
    try:
        yield reporter.take
    finally:
        sending.cancel()
