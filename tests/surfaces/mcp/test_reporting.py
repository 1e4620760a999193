"""A long call is never silent for long, never says too much, and is asked to stop once."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from pi_subagents.surfaces.mcp.calls import MAX_INTERVAL_S, MIN_INTERVAL_S, ClientCalls, reporting
from pi_subagents.testing import run_on_virtual_clock
from pi_subagents.tools import Spoken


def test_a_call_without_news_is_heard_of_every_ten_seconds() -> None:
    sent: list[tuple[float, str]] = []

    async def send(elapsed_s: float, words: str) -> None:
        sent.append((asyncio.get_running_loop().time(), words))

    async def call() -> None:
        async with reporting(send) as take:
            assert take is not None
            take(Spoken("Reading"))
            await asyncio.sleep(35)

    run_on_virtual_clock(call())
    assert [words for _, words in sent] == ["Reading", "Reading (10.2s)", "Reading (20.5s)", "Reading (30.8s)"]
    assert all(later - earlier <= MAX_INTERVAL_S + MIN_INTERVAL_S for (earlier, _), (later, _) in pairwise(sent))


def test_of_many_news_only_the_latest_are_told_four_times_a_second() -> None:
    sent: list[str] = []

    async def send(elapsed_s: float, words: str) -> None:
        sent.append(words)

    async def call() -> None:
        async with reporting(send) as take:
            assert take is not None
            for number in range(200):
                take(Spoken(f"line {number}"))
                await asyncio.sleep(0.01)
            await asyncio.sleep(MIN_INTERVAL_S)

    run_on_virtual_clock(call())
    assert 8 <= len(sent) <= 10
    assert sent[-1] == "line 199"


def test_a_client_that_did_not_ask_hears_nothing() -> None:
    async def call() -> None:
        async with reporting(None) as take:
            assert take is None

    run_on_virtual_clock(call())


def test_a_cancelled_handler_leaves_at_once_and_its_call_is_asked_to_stop_once_and_waited_for_at_the_end() -> None:
    asked: list[float] = []

    async def stop_agents() -> None:
        while True:
            try:
                await asyncio.sleep(5 if asked else 100)
                return
            except asyncio.CancelledError:
                asked.append(asyncio.get_running_loop().time())

    async def main() -> float:
        calls = ClientCalls()
        handler = asyncio.create_task(calls.run(stop_agents()))
        for _ in range(3):
            await asyncio.sleep(1)
            handler.cancel()
        await asyncio.wait([handler])
        assert (handler.cancelled(), asyncio.get_running_loop().time(), asked) == (True, 3, [1])
        await calls.close()
        return asyncio.get_running_loop().time()

    assert run_on_virtual_clock(main()) == 3 + 5, "the server itself waits until nothing is left"
