"""Tables that fit their terminal: the narrower, the fewer columns; the name gets the room that the others leave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pi_subagents.harmless import clean, painted
from pi_subagents.models import Status
from pi_subagents.progress import cell_width, clip, standing, status_icon

Row = TypeVar("Row")

_COLOURS = {Status.COMPLETED: "green", Status.FAILED: "red", Status.ABORTED: "red"}
_PIPE_WIDTH = 1000
"""Nothing is cut where no terminal is."""
_GAP = 2
_MIN_NAME_CELLS = 8


@dataclass(frozen=True)
class Column(Generic[Row]):
    """`from_width`: the column is left out on narrower terminals. `may_wrap`: it is wrapped rather than cut."""

    title: str
    cell: Callable[[Row], str]
    from_width: int = 0
    right: bool = False
    may_wrap: bool = False


def print_table(
    rows: Sequence[Row],
    columns: Sequence[Column[Row]],
    *,
    status: Callable[[Row], Status],
    is_damaged: Callable[[Row], bool],
    name: Callable[[Row], str],
) -> None:
    """One line per row: its status and its name, then the columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    console = Console(file=painted(sys.stdout), width=width)
    shown = [column for column in columns if console.width >= column.from_width]
    cells = [[clean(column.cell(row)) for column in shown] for row in rows]
    standings = [f"{status_icon(status(row))} {standing(status(row), is_damaged(row))}" for row in rows]
    room = console.width - sum(map(_width, zip([column.title for column in shown], *cells, strict=True)))
    room -= _width(standings)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("status", no_wrap=True)
    table.add_column("name", no_wrap=True)
    for column in shown:
        table.add_column(column.title, justify="right" if column.right else "left", no_wrap=not column.may_wrap)
    for row, words, others in zip(rows, standings, cells, strict=True):
        about = Text(words, style=_COLOURS.get(status(row), "yellow"))
        table.add_row(about, Text(clip(clean(name(row)), max(room, _MIN_NAME_CELLS))), *map(Text, others))
    console.print(table)


def _width(cells: Sequence[str]) -> int:
    return max(map(cell_width, cells)) + _GAP
