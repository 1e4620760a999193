"""The lines of a window: the newest few for the collapsed view, up to 500 for the expanded one."""

from __future__ import annotations

from typing import Literal

import msgspec

MAX_MESSAGES = 500
_SLACK = 500
"""Old lines go in batches, so that adding one stays cheap."""

LineKind = Literal["text", "tool", "output"]
"""What a tool returned is `output`: in the expanded view of a terminal only, never in the details of a call."""


class WindowLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a window; it never holds control characters."""

    text: str
    kind: LineKind = "text"


class History:
    """Keeps the last 500 lines in order."""

    def __init__(self) -> None:
        self._lines: list[WindowLine] = []

    def append(self, line: WindowLine) -> None:
        self._lines.append(line)
        if len(self._lines) > MAX_MESSAGES + _SLACK:
            del self._lines[:_SLACK]

    def insert_below(self, anchor: WindowLine | None, *lines: WindowLine) -> None:
        """Put `lines` right below `anchor`, or at the end if that has gone."""
        for index in range(len(self._lines) - 1, -1, -1):
            if self._lines[index] is anchor:
                self._lines[index + 1 : index + 1] = lines
                return
        for line in lines:
            self.append(line)

    def last(self, count: int = MAX_MESSAGES) -> list[WindowLine]:
        """The newest `count` lines, oldest first."""
        return self._lines[-min(count, MAX_MESSAGES) :] if count > 0 else []
