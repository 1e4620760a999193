"""The latest lines of a window, in order, each with the output of the tool call that it shows."""

from __future__ import annotations

from typing import Literal

import msgspec

MAX_MESSAGES = 500
_SLACK = 500
"""Old lines go in batches, so that adding one stays cheap."""
_MAX_OUTPUT_LINES = 500


class WindowLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a window; it never holds control characters."""

    text: str
    kind: Literal["text", "tool"] = "text"
    output: tuple[str, ...] = ()
    """The tool's output, if this is the last line of a call; shown below it in an expanded window only."""


class History:
    """Keeps the last 500 lines in order."""

    def __init__(self) -> None:
        self._lines: list[WindowLine] = []

    def append(self, line: WindowLine) -> None:
        self._lines.append(line)
        if len(self._lines) > MAX_MESSAGES + _SLACK:
            del self._lines[:_SLACK]

    def insert_below(self, anchor: WindowLine | None, *lines: WindowLine) -> None:
        """Put `lines` right below `anchor`, or at the end if that is gone."""
        if (index := self._find(anchor)) is not None:
            self._lines[index + 1 : index + 1] = lines
        else:
            for line in lines:
                self.append(line)

    def remove(self, line: WindowLine) -> None:
        """Take a line out again, if it is still there."""
        if (index := self._find(line)) is not None:
            del self._lines[index]

    def add_output(self, line: WindowLine, output: tuple[str, ...]) -> WindowLine | None:
        """Add a tool's output to `line`; returns the new line, or None if `line` is gone."""
        if (index := self._find(line)) is None:
            return None
        told = self._lines[index] = msgspec.structs.replace(line, output=(*line.output, *output))
        self._forget_old_outputs()
        return told

    def _find(self, line: WindowLine | None) -> int | None:
        return next((index for index in range(len(self._lines) - 1, -1, -1) if self._lines[index] is line), None)

    def _forget_old_outputs(self) -> None:
        """Drop half of them at once: each change makes viewers redraw every line below it."""
        if sum(len(line.output) for line in self._lines) <= _MAX_OUTPUT_LINES:
            return
        left = _MAX_OUTPUT_LINES // 2
        for index in range(len(self._lines) - 1, -1, -1):
            line = self._lines[index]
            left -= len(line.output)
            if line.output and left < 0:
                self._lines[index] = msgspec.structs.replace(line, output=())

    def last(self, count: int = MAX_MESSAGES) -> list[WindowLine]:
        """The newest `count` lines, oldest first."""
        return self._lines[-min(count, MAX_MESSAGES) :] if count > 0 else []
