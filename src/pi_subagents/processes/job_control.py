"""What a terminal tells the program that draws on it: it was resized, Ctrl+Z was pressed, it is in front again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
