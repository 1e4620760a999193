"""A few lines at the end of a terminal that are redrawn in place, and history that is printed above them.

Only the frame's own lines are ever erased. When the terminal has become narrower, it has wrapped what was drawn; the
rows that takes now are counted, so that a redraw neither leaves a copy behind nor wipes what stood above.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from pi_subagents.progress import Line, cell_width, fit, plain
from pi_subagents.surfaces.live.colours import paint

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Terminals that know it show a frame at once or not at all; others ignore it.
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_ERASE_BELOW = "\r\x1b[J"


class Screen:
    """One terminal. Lines are cut to its width, so none can wrap."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn: list[int] = []

    def size(self) -> os.terminal_size:
        """Columns and rows at this moment."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return os.terminal_size((80, 24))
        return size if size.columns and size.lines else os.terminal_size((80, 24))

    def draw(self, frame: Sequence[Line], above: Sequence[Line] = ()) -> None:
        """Replace the frame; `above` goes to history first and is never touched again."""
        columns = self.size().columns
        history = [fit(line, columns - 1) for line in above]
        lines = [fit(line, columns - 1) for line in frame]
        parts = [_BEGIN_FRAME, _HIDE_CURSOR, self._back_to_top(columns)]
        parts += [f"{paint(line)}\r\n" for line in history]
        parts.append("\r\n".join(paint(line) for line in lines))
        parts.append(_END_FRAME)
        self._drawn = [cell_width(plain(line)) for line in lines]
        self._write("".join(parts))

    def close(self) -> None:
        """Take the frame away and give the cursor back."""
        self._write(self._back_to_top(self.size().columns) + _SHOW_CURSOR)
        self._drawn = []

    def _back_to_top(self, columns: int) -> str:
        if not self._drawn:
            return _ERASE_BELOW
        rows = sum(max(1, -(-width // columns)) for width in self._drawn) - 1
        return (f"\x1b[{rows}A" if rows else "") + _ERASE_BELOW

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
