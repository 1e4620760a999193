"""The named timers of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pi_subagents.supervisor.limits import Timers
from pi_subagents.testing import run_on_virtual_clock


def fired(use: Callable[[Timers, Callable[[str], Callable[[], None]]], None]) -> list[tuple[str, float]]:
    """What went off, and when, after `use` has set some timers."""

    async def main() -> list[tuple[str, float]]:
        heard: list[tuple[str, float]] = []
        clock = asyncio.get_running_loop().time
        use(Timers(), lambda name: lambda: heard.append((name, clock())))
        await asyncio.sleep(100)
        return heard

    return run_on_virtual_clock(main())


def test_a_timer_goes_off_once_and_can_be_set_again() -> None:
    def use(timers: Timers, note: Callable[[str], Callable[[], None]]) -> None:
        def again() -> None:
            note("first")()
            timers.set("a", 7, note("second"))

        timers.set("a", 5, again)

    assert fired(use) == [("first", 5), ("second", 12)]


def test_a_timer_that_is_running_is_left_as_it_is() -> None:
    def use(timers: Timers, note: Callable[[str], Callable[[], None]]) -> None:
        timers.set("a", 5, note("a"))
        timers.set("a", 1, note("sooner"))
        timers.set("b", -3, note("b"))

    assert fired(use) == [("b", 0), ("a", 5)]


def test_a_cancelled_timer_does_not_go_off() -> None:
    def use(timers: Timers, note: Callable[[str], Callable[[], None]]) -> None:
        timers.set("a", 5, note("a"))
        timers.set("b", 5, note("b"))
        timers.cancel("a")
        timers.cancel("a")

    assert fired(use) == [("b", 5)]


def test_all_can_be_cancelled_at_once() -> None:
    def use(timers: Timers, note: Callable[[str], Callable[[], None]]) -> None:
        for name in "abc":
            timers.set(name, 5, note(name))
        timers.cancel_all()

    assert fired(use) == []
