"""What others write to stderr while a frame is open: kept, and shown above the frame instead of inside it."""

from __future__ import annotations

import io
import logging
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("pi_subagents", "")


class Interjections(io.TextIOBase):
    """A stand-in for stderr; any thread may write to it."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._unfinished = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Keep a piece of text."""
        self._pieces.append(text)
        return len(text)

    def take(self) -> list[str]:
        """The lines that are complete by now, each once."""
        text = self._unfinished
        while self._pieces:
            text += self._pieces.popleft()
        *lines, self._unfinished = text.split("\n")
        return lines

    def take_all(self) -> list[str]:
        """Every line, also one that nobody has finished."""
        lines, rest = self.take(), self._unfinished
        self._unfinished = ""
        return [*lines, rest] if rest else lines


@contextmanager
def diverted_stderr() -> Iterator[Interjections]:
    """Whatever is printed or logged to stderr while the block runs is kept for the caller."""
    real, kept = sys.stderr, Interjections()
    handlers = [
        handler
        for name in LOGGERS
        for handler in logging.getLogger(name or None).handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is real
    ]
    for handler in handlers:
        handler.setStream(kept)
    sys.stderr = kept
    try:
        yield kept
    finally:
        sys.stderr = real
        for handler in handlers:
            handler.setStream(real)
