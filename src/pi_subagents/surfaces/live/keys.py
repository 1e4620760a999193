"""Single key presses from the terminal, without echo, while a view is open, and what they do to it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import termios
import tty
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class Key(Enum):
    """The keys that mean something; anything else is OTHER."""

    UP = auto()
    DOWN = auto()
    EXPAND = auto()
    STOP = auto()
    QUIT = auto()
    DETACH = auto()
    YES = auto()
    OTHER = auto()


_KEYS = {
    b"\x1b[A": Key.UP,
    b"\x1bOA": Key.UP,
    b"k": Key.UP,
    b"\x1b[B": Key.DOWN,
    b"\x1bOB": Key.DOWN,
    b"j": Key.DOWN,
    b"\x0f": Key.EXPAND,
    b"x": Key.STOP,
    b"q": Key.QUIT,
    b"d": Key.DETACH,
    b"y": Key.YES,
}
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b[^\[O]|\x1b|.", re.DOTALL)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)$")
_MAX_UNFINISHED = 32


class KeyParser:
    """Finds keys in what a terminal sends; an escape sequence is one key, even if it comes in pieces."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> list[Key]:
        """The keys that `data` completes."""
        data, self._held = self._held + data, b""
        unfinished = _UNFINISHED.search(data)
        if unfinished is not None and len(unfinished.group()) <= _MAX_UNFINISHED:
            data, self._held = data[: unfinished.start()], unfinished.group()
        return [_KEYS.get(sequence, Key.OTHER) for sequence in _SEQUENCE.findall(data)]


class Keyboard:
    """Standard input, if a person sits at it. Ctrl+C and Ctrl+Z keep their meaning."""

    def __init__(self, on_key: Callable[[Key], None]) -> None:
        self.exists = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        self._fd = sys.stdin.fileno() if self.exists else -1
        self._on_key = on_key
        self._parser = KeyParser()
        self._before: list[Any] | None = None

    def open(self) -> None:
        """Call back for every key from now on; harmless when it is open already, or when nobody can type."""
        if not self.exists or self._before is not None:
            return
        try:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSANOW)
            _free_control_o(self._fd)
        except (termios.error, OSError):
            self.exists = False
            return
        asyncio.get_running_loop().add_reader(self._fd, self._readable)

    def close(self) -> None:
        """Give the terminal back as it was; harmless when called twice."""
        before, self._before = self._before, None
        if before is None:
            return
        asyncio.get_running_loop().remove_reader(self._fd)
        try:
            # Not DRAIN: that would wait for a terminal which has been told to wait with Ctrl+S.
            termios.tcsetattr(self._fd, termios.TCSANOW, before)
        except (termios.error, OSError):
            self.exists = False  # the terminal is gone

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, 1024)
        except OSError:
            data = b""
        if not data:
            self.close()
            self.exists = False
        for key in self._parser.feed(data):
            self._on_key(key)


def _free_control_o(fd: int) -> None:
    # On BSDs and macOS the terminal itself swallows Ctrl+O (VDISCARD).
    if hasattr(termios, "VDISCARD"):
        attributes = termios.tcgetattr(fd)
        attributes[6][termios.VDISCARD] = b"\x00"
        termios.tcsetattr(fd, termios.TCSANOW, attributes)


@dataclass(frozen=True, slots=True)
class Stop:
    """One run is to be stopped; without an id, all of them."""

    run_id: str | None = None


class Controls:
    """The state behind the keys. `question` is what will be stopped if the answer is yes."""

    def __init__(self) -> None:
        self.selected: str | None = None
        self.expanded = False
        self.question: Stop | None = None
        self._position = 0

    def settle(self, shown: Sequence[str]) -> None:
        """Select another one if the selected one has gone: the one that took its place."""
        if self.question is not None and self.question.run_id not in (None, *shown):
            self.question = None  # it has ended by itself
        if self.selected in shown:
            self._position = shown.index(self.selected)
            return
        self._position = min(self._position, max(len(shown) - 1, 0))
        self.selected = shown[self._position] if shown else None
        self.expanded = False

    def press(self, key: Key, shown: Sequence[str]) -> Stop | None:
        """Take a key; returns what is to be stopped once that was asked and answered with yes or the same key."""
        self.settle(shown)
        asked, self.question = self.question, None
        if asked is not None and key in (Key.YES, Key.QUIT if asked.run_id is None else Key.STOP):
            return asked
        if key is Key.QUIT:
            self.question = Stop()
        elif key is Key.EXPAND:
            self.expanded = not self.expanded
        elif key is Key.STOP and self.selected is not None:
            self.question = Stop(self.selected)
        elif key in (Key.UP, Key.DOWN) and shown:
            self._select(shown, 1 if key is Key.DOWN else -1)
        return None

    def _select(self, shown: Sequence[str], step: int) -> None:
        self._position = (self._position + step) % len(shown)
        self.selected = shown[self._position]
