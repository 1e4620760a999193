"""Single key presses from the terminal, without echo, while a view is open."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto


class Key(Enum):
    """The keys that mean something; anything else is OTHER."""

    UP = auto()
    DOWN = auto()
    EXPAND = auto()
    STOP = auto()
    QUIT = auto()
    OTHER = auto()


_SEQUENCES = {
    b"\x1b[A": Key.UP,
    b"\x1bOA": Key.UP,
    b"k": Key.UP,
    b"\x1b[B": Key.DOWN,
    b"\x1bOB": Key.DOWN,
    b"j": Key.DOWN,
    b"\x0f": Key.EXPAND,
    b"x": Key.STOP,
    b"q": Key.QUIT,
}


def parse_keys(data: bytes) -> list[Key]:
    """The keys in what a terminal sent; an unknown escape sequence is one key, not its letters."""
    keys: list[Key] = []
    while data:
        sequence = next((known for known in _SEQUENCES if data.startswith(known)), None)
        if sequence is None:
            sequence = data if data.startswith(b"\x1b") else data[:1]
        keys.append(_SEQUENCES.get(sequence, Key.OTHER))
        data = data[len(sequence) :]
    return keys


@contextmanager
def listening(on_key: Callable[[Key], None]) -> Iterator[bool]:
    """Call `on_key` for every key while the block runs; False if there is no keyboard to listen to.

    Ctrl+C keeps its meaning. The terminal is given back as it was, whatever happens.
    """
    fd = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else -1
    if fd < 0:
        yield False
        return
    before = termios.tcgetattr(fd)
    loop = asyncio.get_running_loop()

    def readable() -> None:
        data = os.read(fd, 1024)
        if not data:
            loop.remove_reader(fd)
        for key in parse_keys(data):
            on_key(key)

    try:
        tty.setcbreak(fd, termios.TCSANOW)
        _free_control_o(fd)
        loop.add_reader(fd, readable)
        yield True
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _free_control_o(fd: int) -> None:
    # On BSDs and macOS the terminal itself swallows Ctrl+O (VDISCARD).
    attributes = termios.tcgetattr(fd)
    if hasattr(termios, "VDISCARD"):
        attributes[6][termios.VDISCARD] = b"\x00"
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
