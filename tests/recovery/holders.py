"""Makes holders of runs that can be killed: a program that forks one for every order it reads.

It has everything imported already, so that a holder exists within milliseconds. An order may name a point at which the
holder kills itself: where a real crash would have to be lucky.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pi_subagents.runners.local as local
import pi_subagents.store.writing as writing
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.store import Index


def die() -> None:
    """As if the power of this one process had been cut."""
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str, nth: int = 1) -> None:
    """Die at the beginning of the n-th call of a function."""
    original, calls = getattr(owner, name), [0]

    def patched(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == nth:
            die()
        return original(*args, **kwargs)

    setattr(owner, name, patched)


def _at_write(nth: int, share: float) -> None:
    """Die when `share` of the n-th event is on the disk. How many are written together is a matter of chance."""
    original, count = writing.Journal.append, [0]

    def patched(self: writing.Journal, events: Any) -> None:
        for event in events:
            count[0] += 1
            if count[0] == nth:
                data = writing._ENCODER.encode(event) + b"\n"
                os.write(self._fd, data[: round(len(data) * share)])
                die()
            original(self, [event])

    writing.Journal.append = patched  # type: ignore[method-assign]


POINTS: dict[str, Callable[[], None]] = {
    "before the record is published": lambda: _before(writing, "list_run"),
    "before the agent is started": lambda: _before(local.LocalRunner, "start"),
    "after the start, before the prompt": lambda: _before(local.LocalProcess, "_writable"),
    "before the result is drafted": lambda: _before(writing.RunRecord, "draft_result"),
    "before the result gets its name": lambda: _before(writing.RunRecord, "publish_result"),
    # The first call notes that the runs exist, the second one how the first of them ended.
    "after the result, before the index": lambda: _before(Index, "record", nth=2),
}


def _let_the_clock_jump(seed: int) -> None:
    """Every now and then it is an hour earlier or later, as after a correction of the clock."""
    true, chance, offset_s = time.time_ns, random.Random(seed), [0]

    def jumping() -> int:
        if chance.random() < 0.3:
            offset_s[0] = chance.randint(-3600, 3600)
        return true() + offset_s[0] * 1_000_000_000

    time.time_ns = jumping


def _hold(order: dict[str, Any]) -> None:
    if seed := order.get("clock"):
        _let_the_clock_jump(seed)
    if point := order.get("point"):
        POINTS[point]()
    if write := order.get("write"):
        _at_write(*write)
    place = Place.here(Path(order["project"]), order["environ"])
    tasks = [Task(f"task {number}", prompt) for number, prompt in enumerate(order["prompts"])]
    asyncio.run(_see_through(Delegation(tasks, place=place)))


async def _see_through(delegation: Delegation) -> None:
    await delegation


def main() -> None:
    """Fork a holder for every line on standard input and print its process id."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            try:
                _hold(order)
            finally:
                os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
