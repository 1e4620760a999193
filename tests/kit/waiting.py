"""The one way in which tests wait for what another process, thread or task does in its own time.

A test waits for the very thing that it then asserts on: `until` returns what was seen, so that nobody looks a second
time and finds something else. Patience is long, because it costs nothing where the thing happens, and a busy machine
is no reason to fail.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

PATIENCE_S = 120.0
"""What tests take for endless lasts longer, so that nothing passes because it ended by itself."""
_GLANCE_S = 0.01

Seen = TypeVar("Seen")


def until(look: Callable[[], Seen], what: str = "", shown: Callable[[], str] | None = None) -> Seen:
    """What `look` returns, once that is true; `shown` tells whoever reads a failure what there was instead."""
    for seen in _glances(look, what, shown):
        if seen:
            return seen
        time.sleep(_GLANCE_S)
    raise AssertionError  # never reached: the glances themselves run out of patience


async def until_async(
    look: Callable[[], Seen],
    what: str = "",
    shown: Callable[[], str] | None = None,
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> Seen:
    """The same, while other tasks go on."""
    for seen in _glances(look, what, shown):
        if seen:
            return seen
        await pause(_GLANCE_S)
    raise AssertionError  # never reached, as above


def _glances(look: Callable[[], Seen], what: str, shown: Callable[[], str] | None) -> Iterator[Seen | None]:
    """What there is to be seen, again and again."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        is_last = time.monotonic() >= deadline  # asked before looking: a slow look still counts
        seen, missing = None, ""
        try:
            seen = look()
        except (FileNotFoundError, ProcessLookupError) as error:  # not there yet, or gone in the middle of a look
            missing = f" ({error})"
        yield seen
        assert not is_last, f"waited {PATIENCE_S:g} s in vain: {what}{missing}" + (f"\n{shown()}" if shown else "")
