"""Signals that reach us: those that end the program, and those that a terminal sends to who draws on it.

What ends the program becomes the cancellation of a task, so that agents are stopped first.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
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


@contextmanager
def job_control(
    *, on_resize: Callable[[], None], before_stop: Callable[[], None], after_continue: Callable[[], None]
) -> Iterator[None]:
    """Call back while the block runs; `before_stop` leaves the terminal as the shell wants it.

    `after_continue` is called once for every time that it goes on, also after a stop that nobody announced.
    """
    loop = asyncio.get_running_loop()
    announced = False

    def stop() -> None:
        nonlocal announced
        announced = True
        before_stop()
        # Once more with its usual effect: none where no shell could ever wake the program again.
        loop.remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, stop)
        after_continue()

    def go_on() -> None:
        nonlocal announced
        if announced:  # that was the signal which has ended `stop`
            announced = False
        else:
            after_continue()

    handlers = {signal.SIGWINCH: on_resize, signal.SIGTSTP: stop, signal.SIGCONT: go_on}
    heeded = [number for number in handlers if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        loop.add_signal_handler(number, handlers[number])
    try:
        yield
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
