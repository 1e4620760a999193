"""Steps that take long: says what each does, and shows that it is alive.

On a terminal a moving line counts the seconds; elsewhere, as in a log, a line with them is added every now and then.
Needs nothing but the standard library: the scripts of a clone use this before anything is installed.
"""

from __future__ import annotations

import itertools
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from pi_subagents.text.harmless import clean

_TERMINAL_PAUSE_S = 0.1
_LOG_PAUSE_S = 2.5
"""Nobody is left without a word for three seconds."""
_FRAMES = "|/-\\"
_CLEAR = "\r\x1b[2K"


class Steps:
    """Tells of steps on one stream, each line with the same words in front of it. One step at a time."""

    def __init__(self, stream: TextIO, prefix: str) -> None:
        self._stream = stream
        self._prefix = prefix
        self._is_terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()
        self._is_moving = False

    def say(self, line: str) -> None:
        """Tell something; what moves goes on below it."""
        with self._lock:
            self._write(f"{_CLEAR if self._is_moving else ''}{self._prefix}{clean(line)}\n")

    @contextmanager
    def step(self, doing: str, *, brief: bool = False) -> Iterator[None]:
        """Say what is being done, for as long as it takes; what is usually `brief`, only where it is not."""
        ended = threading.Event()
        begun = time.monotonic()
        if not self._is_terminal and not brief:
            self.say(doing)
        show = self._move if self._is_terminal else self._count
        shower = threading.Thread(target=show, args=(doing if self._is_terminal or brief else "…", begun, ended))
        shower.daemon = True
        shower.start()
        try:
            yield
        finally:
            ended.set()
            shower.join()
            if self._is_terminal:
                self._stop_moving("" if brief else _timed(doing, begun))

    def _move(self, doing: str, begun: float, ended: threading.Event) -> None:
        for frame in itertools.cycle(_FRAMES):
            room = shutil.get_terminal_size().columns - 1  # a line that is full would begin another
            line = f"{frame} {self._prefix}{clean(_timed(doing, begun))}"
            with self._lock:
                self._is_moving = True
                self._write(f"{_CLEAR}{line[:room]}")
            if ended.wait(_TERMINAL_PAUSE_S):
                return

    def _stop_moving(self, line: str) -> None:
        with self._lock:
            self._write(f"{_CLEAR}{self._prefix}{clean(line)}\n" if line else _CLEAR)
            self._is_moving = False

    def _count(self, doing: str, begun: float, ended: threading.Event) -> None:
        while not ended.wait(_LOG_PAUSE_S):
            self.say(_timed(doing, begun))

    def _write(self, text: str) -> None:
        with suppress(OSError):  # whoever read this has gone; the step itself goes on
            self._stream.write(text)
            self._stream.flush()


def _timed(doing: str, begun: float) -> str:
    return f"{doing} ({time.monotonic() - begun:.0f} s)"
