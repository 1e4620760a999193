"""A few lines at the end of a terminal that are redrawn in place, and history that is printed above them.

Only the frame's own lines are ever erased. The cursor waits at the beginning of the empty row below the frame, because
that is a place that stays what it is when the terminal is resized. A terminal that becomes narrower breaks the lines
that were drawn; the rows they take now are counted, so that a redraw neither leaves a copy behind nor wipes what stood
above. A terminal that shrinks so much at once that the frame no longer fits moves the frame's beginning into its
scrollback, where nobody can erase it; it is remembered, and erased once the terminal has grown and brought it back.
"""

from __future__ import annotations

import io
import logging
import os
import select
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TextIO

from pi_subagents.text import Line, Style, fit, plain, screen_rows

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Terminals that know it show a frame at once or not at all; others ignore it.
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_ERASE_ROW, _ERASE_BELOW = "\x1b[2K", "\x1b[J"
_FALLBACK_SIZE = os.terminal_size((80, 24))
_COLOURED = {
    Style.TEXT: "",
    Style.BOLD: "1",
    Style.TITLE: "1",
    Style.MUTED: "90",
    Style.DIM: "2",
    Style.ACCENT: "36",
    Style.ADDED: "32",
    Style.REMOVED: "31",
    Style.SUCCESS: "32",
    Style.WARNING: "33",
    Style.ERROR: "31",
}
_COLOURLESS = {style: code if code in ("1", "2") else "" for style, code in _COLOURED.items()} | {Style.MUTED: "2"}
"""The sixteen colours every theme defines, so that light and dark both work; without them, bold and dim are left."""


class LiveScreen:
    """One terminal. The frame's lines are cut to its width, so none of them wraps; those of history may."""

    def __init__(self, stream: TextIO, *, reflows: bool = True, coloured: bool = True) -> None:
        self._stream = stream
        self._paint = partial(paint, coloured=coloured)
        self._reflows = reflows
        self._size = _FALLBACK_SIZE
        self._painted: list[str] = []
        self._texts: list[str] = []
        self._stranded: list[str] = []

    def size(self) -> os.terminal_size:
        """Columns and rows at this moment."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return _FALLBACK_SIZE
        return size if size.columns and size.lines else _FALLBACK_SIZE

    def is_ours(self) -> bool:
        """Whether this program is in the foreground: in the background the terminal belongs to the shell."""
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return True  # not the terminal that controls this program, so nobody takes it away

    def accepts_output(self) -> bool:
        """Whether writing would go on at once; after Ctrl+S, or on a slow line, it would hold up everything."""
        try:
            return bool(select.select([], [self._stream], [], 0)[1])
        except (OSError, ValueError):
            return True

    def draw(self, frame: Sequence[Line], above: Sequence[Line] = ()) -> None:
        """Replace the frame; `above` goes to history first and is never touched again."""
        size = self.size()
        lines = [fit(line, size.columns - 1) for line in frame]
        painted = [self._paint(line) for line in lines]
        resized = size != self._size
        if painted == self._painted and not resized and not above:
            return
        if above or resized or not painted:
            new = "".join(f"{text}\r\n" for text in (*map(self._paint, above), *painted))
            change = f"{self._erased(size)}{new}"
        else:
            change = self._changes(painted)
        self._write(f"{_BEGIN_FRAME}{_HIDE_CURSOR}{change}{_END_FRAME}")
        if above:
            self._stranded = []
        self._size, self._painted, self._texts = size, painted, [plain(line) for line in lines]

    def close(self) -> None:
        """Take the frame away and give the cursor back."""
        self._write(f"{self._erased(self.size())}{_SHOW_CURSOR}")
        self.forget()

    def forget(self) -> None:
        """Whatever is drawn now is no longer ours; the next frame begins where the cursor is."""
        self._painted, self._texts, self._stranded = [], [], []

    def _changes(self, painted: list[str]) -> str:
        """The frame over the old one of the same size, without what is the same: nothing flickers, little is sent.

        A row is erased before it is written: for tmux the cells behind the end of a new, shorter text would still
        be part of the line, and take rows when the terminal becomes narrower.
        """
        up = f"\r\x1b[{len(self._painted)}A" if self._painted else "\r"
        known = [*self._painted, *([None] * len(painted))]
        rows = ["\r\n" if new == old else f"{_ERASE_ROW}{new}\r\n" for new, old in zip(painted, known, strict=False)]
        return up + "".join(rows) + (_ERASE_BELOW if len(self._painted) > len(painted) else "")

    def _erased(self, size: os.terminal_size) -> str:
        """Erase our rows, wherever resizing has moved them, and end in the first.

        Row by row and upwards: erased all at once from its first row, a screen is moved into history by tmux. What is
        in the scrollback is out of reach; the terminal stops at its first row by itself.
        """
        ours = (*self._stranded, *self._texts)
        broken = [screen_rows(text, size.columns) if self._reflows else [text] for text in ours]
        rows = sum(map(len, broken))
        cut = size != self._size and self._strand(broken, rows - (size.lines - 1))
        # The end of a line whose beginning has been moved away stays empty, or the next one would be part of it.
        return f"\r{_ERASE_ROW}" + f"\x1b[A{_ERASE_ROW}" * rows + ("\r\n" if cut else "")

    def _strand(self, broken: Sequence[Sequence[str]], count: int) -> bool:
        """Remember what the first `count` of our rows say: they are in the scrollback now. True if a line was cut."""
        self._stranded = []
        left = max(count, 0)
        for rows in broken:
            if left <= 0:
                break
            self._stranded.append("".join(rows[:left]))
            left -= len(rows)
        return left < 0

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def reflows(environ: Mapping[str, str]) -> bool:
    """Whether the terminal breaks long lines anew when it is resized; most do, a few old ones cut them off."""
    if "TMUX" in environ:
        return True
    return "XTERM_VERSION" not in environ and not environ.get("TERM", "").startswith(("linux", "screen"))


def paint(line: Line, *, coloured: bool = True) -> str:
    """A styled line as text with codes for colours; without those, bold and dim are left."""
    codes = _COLOURED if coloured else _COLOURLESS
    return "".join(f"\x1b[{code}m{text}\x1b[0m" if (code := codes[style]) else text for style, text in line)


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
        for name in ("pi_subagents", "")
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
