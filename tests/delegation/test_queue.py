"""The bounded queue: so many at once, in order, and one that fails does not touch the others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import pytest

from pi_subagents.delegation.queue import run_bounded
from pi_subagents.testing import run_on_virtual_clock


class Gate:
    """Jobs that take a while, and how many of them were at work together."""

    def __init__(self) -> None:
        self.at_work = self.most = 0
        self.order: list[int] = []

    async def work(self, number: int, duration_s: float = 1, *, fails: bool = False) -> int:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        self.order.append(number)
        await asyncio.sleep(duration_s)
        self.at_work -= 1
        if fails:
            raise ValueError(f"job {number}")
        return number


def elapsed(jobs: Sequence[Callable[[], Awaitable[int]]], limit: int) -> tuple[list[int], float]:
    async def main() -> tuple[list[int], float]:
        results = await run_bounded(jobs, limit)
        return results, asyncio.get_running_loop().time()

    return run_on_virtual_clock(main())


@pytest.mark.parametrize(("jobs", "limit", "rounds"), [(16, 4, 4), (5, 4, 2), (3, 8, 1), (3, 1, 3), (0, 4, 0)])
def test_no_more_than_the_limit_are_at_work(jobs: int, limit: int, rounds: int) -> None:
    gate = Gate()
    results, took_s = elapsed([partial(gate.work, number) for number in range(jobs)], limit)
    assert (results, took_s) == (list(range(jobs)), rounds)
    assert gate.most == min(jobs, limit)


def test_first_come_first_served_and_results_in_the_order_of_the_jobs() -> None:
    gate = Gate()
    durations = [5, 1, 3, 1]
    results, took_s = elapsed([partial(gate.work, n, duration) for n, duration in enumerate(durations)], 2)
    assert results == gate.order == [0, 1, 2, 3]
    assert took_s == 5


def test_a_job_that_fails_is_reported_after_the_others_have_finished() -> None:
    gate = Gate()
    jobs = [partial(gate.work, 0, 1, fails=True), partial(gate.work, 1, 9), partial(gate.work, 2, 9)]
    with pytest.raises(ValueError, match="job 0"):
        elapsed(jobs, 2)
    assert (gate.order, gate.at_work) == ([0, 1, 2], 0)
