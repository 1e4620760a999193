"""Tables that fit their terminal: where the names would be cut too short, columns give way; names get what is left."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pi_subagents.models import Status
from pi_subagents.paths import home_dir
from pi_subagents.progress import standing, status_icon
from pi_subagents.surfaces.cli.output import PIPE_CELLS
from pi_subagents.surfaces.cli.pager import print_paged
from pi_subagents.text import cell_width, clip, counted, money, shorten_path
from pi_subagents.text.harmless import clean, painted, wants_colours

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Row = TypeVar("Row")

_COLOURS = {Status.COMPLETED: "green", Status.FAILED: "red", Status.ABORTED: "red"}
_GAP = 2
_NAME_CELLS = 20
"""So much of a name, or a quarter of the line, says what it is about; before it gets less, columns give way."""
_MIN_NAME_CELLS = 8
_AGENT_CELLS = 16
_WRAPPED_CELLS = 24


@dataclass(frozen=True)
class Column(Generic[Row]):
    """`gives_way`: the column with the highest number is left out first, one with 0 never. `may_wrap`: never cut."""

    title: str
    cell: Callable[[Row], str]
    gives_way: int = 0
    right: bool = False
    may_wrap: bool = False


def agent_column(agent: Callable[[Row], str | None]) -> Column[Row]:
    """The name of the profile or preset that a run had."""
    return Column("agent", lambda row: clip(clean(agent(row) or "–"), _AGENT_CELLS))


def project_column(project: Callable[[Row], Path]) -> Column[Row]:
    """Where a run was made; a path that is too long goes on in the next line."""
    return Column("project", lambda row: shorten_path(str(project(row)), home=str(home_dir())), may_wrap=True)


def totals(count: int, word: str, tokens: int, cost: float) -> str:
    """The line below a list: `3 sessions, 141,844 tokens, $0.1953`."""
    return f"{counted(count, word)}, {tokens:,} tokens, {money(cost)}"


@dataclass(frozen=True)
class Table(Generic[Row]):
    """One line per row: its status and its name, then the columns; and a line below them all."""

    columns: Sequence[Column[Row]]
    status: Callable[[Row], Status]
    is_damaged: Callable[[Row], bool]
    name: Callable[[Row], str]
    footer: str

    def show(self, rows: Sequence[Row], *, pager: bool) -> None:
        """Print it, in a pager where that is wanted and needed."""
        from rich.console import Console

        width = None if sys.stdout.isatty() else PIPE_CELLS
        colours: Literal["auto"] | None = "auto" if wants_colours(os.environ) else None
        console = Console(file=painted(sys.stdout), width=width, color_system=colours)
        with console.capture() as captured:
            console.print(self._fitting(rows, console.width))
            console.print(self.footer, style="dim", highlight=False, markup=False)
        print_paged(captured.get(), pager=pager)

    def _fitting(self, rows: Sequence[Row], width: int) -> RichTable:
        standings = [
            f"{status_icon(self.status(row))} {standing(self.status(row), self.is_damaged(row))}" for row in rows
        ]
        names = [clean(self.name(row)) for row in rows]
        cells = {column: [clean(column.cell(row)) for row in rows] for column in self.columns}
        enough = min(max(map(cell_width, names)), max(_NAME_CELLS, width // 4))
        while True:
            room = width - _width(standings) - sum(_width([one.title, *cells[one]], one.may_wrap) for one in cells)
            least = max(cells, key=lambda column: column.gives_way)
            if room >= enough or not least.gives_way:
                return self._drawn(rows, standings, [clip(name, max(room, _MIN_NAME_CELLS)) for name in names], cells)
            del cells[least]

    def _drawn(
        self,
        rows: Sequence[Row],
        standings: Sequence[str],
        names: Sequence[str],
        cells: dict[Column[Row], list[str]],
    ) -> RichTable:
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, pad_edge=False, header_style="dim")
        table.add_column("status", no_wrap=True)
        table.add_column("name", no_wrap=True)
        for column in cells:
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                no_wrap=not column.may_wrap,
                overflow="fold" if column.may_wrap else "ellipsis",  # a long path is one word: it goes on all the same
            )
        for number, row in enumerate(rows):
            about = Text(standings[number], style=_COLOURS.get(self.status(row), "yellow"))
            table.add_row(about, Text(names[number]), *(Text(texts[number]) for texts in cells.values()))
        return table


def _width(texts: Sequence[str], may_wrap: bool = False) -> int:
    widest = max(map(cell_width, texts))
    return (min(widest, _WRAPPED_CELLS) if may_wrap else widest) + _GAP
