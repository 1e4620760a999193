"""A bounded queue: so many at once, first come first served; and work in threads that is never left half done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def run_bounded(jobs: Sequence[Callable[[], Awaitable[T]]], limit: int) -> list[T]:
    """Run every job, at most `limit` at a time; results in the order of the jobs.

    A job that raises does not touch the others: all are seen through before its exception is raised.
    """
    slots = asyncio.Semaphore(limit)

    async def in_turn(job: Callable[[], Awaitable[T]]) -> T:
        async with slots:
            return await job()

    outcomes = await asyncio.gather(*(in_turn(job) for job in jobs), return_exceptions=True)
    results: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results


async def in_thread(work: Callable[[], T]) -> T:
    """Do something in a thread; who is cancelled meanwhile waits for its end, so that nothing it made is forgotten."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    cancelled = False
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        future.exception()  # it has been seen
        raise asyncio.CancelledError
    return future.result()
