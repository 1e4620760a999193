"""A line from the terminal that Esc ends too.

The terminal goes on to do the editing, the echo and Ctrl+C: Esc is only made one more character that ends a line.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ESCAPE = b"\x1b"
_MAX_LINE_BYTES = 65536
_KEY_S = 0.05
"""What follows Esc within this time is the rest of an arrow or another key, which came at one go."""


def read_line(ask: Callable[[], object]) -> str | None:
    """The line without its end, or None if Esc was pressed; raises EOFError where the input is over.

    `ask` shows the question once the terminal knows of Esc: whoever sees it can answer.
    """
    typed = b""
    with _ends_at_escape() as fd:
        ask()
        while True:
            part = os.read(fd, _MAX_LINE_BYTES)
            typed += part.removesuffix(_ESCAPE)
            if not part:
                raise EOFError
            if not part.endswith(_ESCAPE):
                return typed.decode(errors="replace").rstrip()
            if not _was_other_key(fd):
                return None


@contextmanager
def _ends_at_escape() -> Iterator[int]:
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[6][termios.VEOL] = _ESCAPE
    termios.tcsetattr(fd, termios.TCSADRAIN, changed)
    try:
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _was_other_key(fd: int) -> bool:
    """Whether Esc was the beginning of a key; takes the rest of it, for which the terminal would wait till Enter."""
    before = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[3] &= ~termios.ICANON
    changed[6][termios.VMIN] = 1  # shares its place with the end of the file
    changed[6][termios.VTIME] = 0
    termios.tcsetattr(fd, termios.TCSANOW, changed)
    try:
        if not select.select([fd], [], [], _KEY_S)[0]:
            return False
        _take_key(fd)
        return True
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)


def _take_key(fd: int) -> None:
    """Read what follows Esc: `[` or `O`, then anything up to a letter or `~`; else one character."""
    taken = os.read(fd, 1)
    while taken[:1] in (b"[", b"O") and (len(taken) == 1 or not 0x40 <= taken[-1] <= 0x7E):
        taken += os.read(fd, 1)
