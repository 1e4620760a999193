"""Tool calls under way: each can be cancelled by its client, and all are seen to their end when the server ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class ClientCalls:
    """Runs every call in a task of its own.

    The SDK cancels a handler again and again until it has returned, and stopping agents takes a few steps. So the
    handler leaves at once, and its call is asked to stop exactly one time.
    """

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a call; if the caller is cancelled, the call stops its agents and ends by itself."""
        call = asyncio.create_task(work)
        self._under_way.add(call)
        call.add_done_callback(self._under_way.discard)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            call.cancel()
            raise

    async def close(self) -> None:
        """Stop every call and wait until nothing is left of its agents."""
        calls = list(self._under_way)
        for call in calls:
            call.cancel()
        if calls:
            await asyncio.wait(calls)
