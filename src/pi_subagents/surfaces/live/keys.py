"""Single key presses from the terminal, without echo, while a view is open, and what they do to it."""

from __future__ import annotations

import asyncio
import codecs
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
    STEER = auto()
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
    b"s": Key.STEER,
    b"q": Key.QUIT,
    b"d": Key.DETACH,
    b"y": Key.YES,
}
_SEQUENCE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b[^\[O]|\x1b|.", re.DOTALL)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)$")
_MAX_UNFINISHED = 32
_MAX_ENTRY = 10_000


class KeyParser:
    """Finds keys in what a terminal sends; an escape sequence is one key, even if it comes in pieces."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> list[Key]:
        """The keys that `data` completes."""
        return [key_of(sequence) for sequence in self.split(data)]

    def split(self, data: bytes) -> list[bytes]:
        """The same as bytes: a sequence for each key, and each byte of a text."""
        data, self._held = self._held + data, b""
        unfinished = _UNFINISHED.search(data)
        if unfinished is not None and len(unfinished.group()) <= _MAX_UNFINISHED:
            data, self._held = data[: unfinished.start()], unfinished.group()
        return _SEQUENCE.findall(data)


def key_of(sequence: bytes) -> Key:
    """What the bytes of one key mean."""
    return _KEYS.get(sequence, Key.OTHER)


class Entry:
    """A line that somebody types for the agent of a run."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")

    def take(self, sequence: bytes, *, is_last: bool) -> bool:
        """Take a key; whether that ends the line, which is empty if it was given up."""
        if sequence in (b"\r", b"\n") and is_last:
            return True
        if sequence == b"\x1b":
            self.text = ""
            return True
        if sequence in (b"\x7f", b"\x08"):
            self.text = self.text[:-1]
        elif sequence == b"\x15":  # Ctrl+U
            self.text = ""
        elif sequence in (b"\r", b"\n", b"\t"):  # with more behind it: a text that was pasted
            self.text += " "
        elif sequence >= b" " and len(sequence) == 1:
            self.text = (self.text + self._decoder.decode(sequence))[:_MAX_ENTRY]
        return False


class Keyboard:
    """Standard input, if a person sits at it. Ctrl+C and Ctrl+Z keep their meaning.

    `on_sequence` gets the bytes of each key, and whether it is the last of those that came together.
    """

    def __init__(self, on_sequence: Callable[[bytes, bool], None]) -> None:
        self.exists = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        self._fd = sys.stdin.fileno() if self.exists else -1
        self._on_sequence = on_sequence
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
        sequences = self._parser.split(data)
        for number, sequence in enumerate(sequences, start=1):
            self._on_sequence(sequence, number == len(sequences))


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
    """The state behind the keys. `question` is what is stopped if the answer is yes, `entry` what is typed."""

    def __init__(self) -> None:
        self.selected: str | None = None
        self.expanded = False
        self.question: Stop | None = None
        self.entry: Entry | None = None
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
        elif key is Key.STEER and self.selected is not None:
            self.entry = Entry(self.selected)
        elif key in (Key.UP, Key.DOWN) and shown:
            self._select(shown, 1 if key is Key.DOWN else -1)
        return None

    def _select(self, shown: Sequence[str], step: int) -> None:
        self._position = (self._position + step) % len(shown)
        self.selected = shown[self._position]
