"""A bounded queue: so many at once, first come first served."""

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
