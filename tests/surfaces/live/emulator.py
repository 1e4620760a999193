"""As much of a terminal as the live view uses, with the ways in which terminals treat what was drawn on a resize."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass, field

from pi_subagents.text import graphemes, screen_rows

_TOKEN = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


@dataclass
class Row:
    """One row of the screen or of the scrollback; a wrapped one goes on in the next."""

    text: str = ""
    wrapped: bool = False


@dataclass
class Emulator:
    """Rows above `top` are scrollback. Only whole rows are written, from their first column, as the view does."""

    columns: int
    height: int
    reflows: bool = True
    rows: list[Row] = field(default_factory=lambda: [Row()])
    cursor: int = 0
    column: int = 0
    cursor_is_visible: bool = True

    @property
    def top(self) -> int:
        return max(0, len(self.rows) - self.height)

    @property
    def lines(self) -> list[str]:
        """Everything, with rows put together that are one line."""
        lines, begun = [], ""
        for row in self.rows:
            begun += row.text
            if not row.wrapped:
                lines.append(begun)
                begun = ""
        return [line.rstrip() for line in lines]

    @property
    def screen(self) -> list[str]:
        return [row.text for row in self.rows[self.top :]]

    def write(self, text: str) -> None:
        position = 0
        while position < len(text):
            found = _TOKEN.match(text, position)
            assert found is not None, f"the view sends {text[position : position + 10]!r}, which no test knows"
            position = found.end()
            if found.group(3):
                self._obey(found.group(1), found.group(2), found.group(3))
            else:
                self._print(found.group())

    def resize(self, columns: int, height: int) -> None:
        """First the height, then the width, as tmux does."""
        while len(self.rows) - self.top > height and self.cursor < len(self.rows) - 1:
            self.rows.pop()
        self.height = height
        if self.reflows:
            self._reflow(columns)
        self.columns = columns

    def _reflow(self, columns: int) -> None:
        before = self.rows[: self.cursor]
        after = self.rows[self.cursor :]
        self.rows = self._broken(before, columns)
        self.cursor = len(self.rows)
        self.rows += self._broken(after, columns)

    def _broken(self, rows: list[Row], columns: int) -> list[Row]:
        broken, line = [], ""
        for row in rows:
            line += row.text
            if not row.wrapped:
                pieces = screen_rows(line, columns)
                broken += [Row(piece, wrapped=at < len(pieces) - 1) for at, piece in enumerate(pieces)]
                line = ""
        return broken

    def _obey(self, private: str, number: str, letter: str) -> None:
        if private:
            if number == "25":
                self.cursor_is_visible = letter == "h"
        elif letter == "A":
            self.cursor = max(self.top, self.cursor - int(number or 1))
        elif letter == "K":
            assert number == "2"
            self.rows[self.cursor] = Row()
        elif letter == "J":
            assert self.cursor > self.top, "tmux would move the screen into its history"
            self.rows[self.cursor :] = [Row()]
        else:
            assert letter == "m", letter

    def _print(self, text: str) -> None:
        if text == "\r":
            self.column = 0
        elif text == "\n":
            self.cursor += 1
            if self.cursor == len(self.rows):
                self.rows.append(Row())
        else:
            self._type(text)

    def _type(self, text: str) -> None:
        for cluster, cells in graphemes(text):
            if self.column + cells > self.columns:
                self.rows[self.cursor].wrapped = True
                self._print("\n")
                self.column = 0
            self.rows[self.cursor].text = ("" if self.column == 0 else self.rows[self.cursor].text) + cluster
            self.column += cells


class EmulatedStream(io.StringIO):
    """A stream whose terminal is emulated."""

    def __init__(self, emulator: Emulator) -> None:
        super().__init__()
        self.emulator = emulator
        self.sent: list[str] = []

    def write(self, text: str) -> int:
        self.sent.append(text)
        self.emulator.write(text)
        return len(text)

    def terminal_size(self) -> os.terminal_size:
        return os.terminal_size((self.emulator.columns, self.emulator.height))
