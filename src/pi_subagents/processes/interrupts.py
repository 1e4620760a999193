"""Turns the signals that end a program into the cancellation of a task, so that agents are stopped first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):  # noqa: N818 - an event, not an error
    """A signal ended the work; `exit_code` is what a shell expects of a program that died of it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


def run_until_signalled(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end, or cancel it at the first Ctrl+C, SIGTERM or closed terminal and raise Interrupted.

    The work decides how long its tidying up takes; a second signal does not cut that short, it is bounded itself.
    """
    received: list[int] = []

    async def main() -> T:
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)

        def on_signal(number: int) -> None:
            if not received:
                received.append(number)
                task.cancel()

        for number in _ENDING:
            loop.add_signal_handler(number, on_signal, number)
        return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        if received:
            raise Interrupted(received[0]) from None
        raise
