"""Tables that fit their terminal: where the names would be cut too short, columns give way; names get what is left.

A long list at a terminal goes through the user's pager, beginning at the end, where the newest is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from pi_subagents.clock import now_ms
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.paths import home_dir
from pi_subagents.progress import standing, status_icon
from pi_subagents.surfaces.cli.output import PIPE_CELLS, echo_in_pager
from pi_subagents.text import (
    age_of,
    cell_width,
    clip,
    cost_words,
    counted,
    duration,
    money,
    shorten_path,
    token_count,
    token_words,
)
from pi_subagents.text.harmless import clean, painted, wants_colours

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from pi_subagents.runs.listing import Used

Row = TypeVar("Row")

_COLOURS = {Status.COMPLETED: "green", Status.FAILED: "red", Status.ABORTED: "red"}
_GAP = 2
_NAME_CELLS = 20
"""So much of a name, or a quarter of the line, says what it is about; before it gets less, columns give way."""
_MIN_NAME_CELLS = 8
_AGENT_CELLS = 16
_WRAPPED_CELLS = 24
_LESS = "-FRX"
"""As git has it: ends by itself where all fits, shows colours, leaves what was read on the screen."""
_AT_THE_END = "+G"


@dataclass(frozen=True)
class Column(Generic[Row]):
    """`gives_way`: the column with the highest number is left out first, one with 0 never. `may_wrap`: never cut."""

    title: str
    cell: Callable[[Row], str]
    gives_way: int = 0
    right: bool = False
    may_wrap: bool = False
    is_name: bool = False
    colour: Callable[[Row], str] = lambda _row: ""

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """What is in it, harmless."""
        return [clean(self.cell(row)) for row in rows]

    def width(self, rows: Sequence[Row]) -> int:
        """With the gap beside it."""
        widest = max(map(cell_width, [self.title, *self.texts(rows)]))
        return (min(widest, _WRAPPED_CELLS) if self.may_wrap else widest) + _GAP


def run_columns(
    title: str, short_id: Callable[[Row], str], state_of: Callable[[Row], RunState]
) -> tuple[Column[Row], ...]:
    """What every list of runs begins with: how each stands, its name and id, its profile or preset, when, how long."""

    def stands(row: Row) -> str:
        state = state_of(row)
        return f"{status_icon(state.status)} {standing(state)}"

    return (
        Column("status", stands, colour=lambda row: _COLOURS.get(state_of(row).status, "yellow")),
        Column("name", lambda row: state_of(row).name, is_name=True),
        Column(title, short_id),
        Column("agent", lambda row: clip(clean(doer(state_of(row))), _AGENT_CELLS)),
        Column("age", lambda row: age_of(state_of(row).created_at, now_ms()), right=True),
        Column("time", lambda row: working_time(state_of(row)) or "–", right=True, gives_way=2),
    )


def doer(state: RunState) -> str:
    """`reviewer`, `claude`, `reviewer (claude)`: its profile or preset, and which agent it is if it is not `pi`."""
    name, other = state.asked_as, state.other_agent
    return f"{name} ({other})" if name and other and name != other else name or other or "–"


def project_column(project: Callable[[Row], Path]) -> Column[Row]:
    """Where a run was made; a path that is too long goes on in the next line."""
    return Column("project", lambda row: shorten_path(str(project(row)), home=str(home_dir())), may_wrap=True)


def working_time(state: RunState) -> str | None:
    """How long a run has been at work, or was; None if it never started."""
    if state.started_at is None:
        return None
    return duration(((state.completed_at or now_ms()) - state.started_at) / 1000)


def tokens_used(used: Used) -> str:
    """`141,844`, `141,844+` or `unknown`."""
    return token_count(used.tokens, is_all=used.knows_tokens)


def money_spent(used: Used) -> str:
    """`$0.1953`, `$0.1953+` or `unknown`."""
    return money(used.cost, is_all=used.knows_cost)


def totals(count: int, word: str, used: Used) -> str:
    """The line below a list: `3 sessions, 141,844 tokens, $0.1953`."""
    tokens, cost = token_words(used.tokens, is_all=used.knows_tokens), cost_words(used.cost, is_all=used.knows_cost)
    return f"{counted(count, word)}, {tokens}, {cost}"


def console_for_output() -> Console:
    """One that paints on standard output; in colour where that is wanted."""
    from rich.console import Console

    colours: Literal["auto"] | None = "auto" if wants_colours(os.environ) else None
    return Console(file=painted(sys.stdout), width=None if sys.stdout.isatty() else PIPE_CELLS, color_system=colours)


def show_list(columns: Sequence[Column[Row]], rows: Sequence[Row], footer: str, *, pager: bool) -> None:
    """Print a line per row and one below them all; in a pager where that is wanted and needed."""
    console = console_for_output()
    enough = max(_NAME_CELLS, console.width // 4)
    with console.capture() as captured:
        console.print(drawn(fitting(columns, rows, console.width, enough, _MIN_NAME_CELLS), rows))
        console.print(footer, style="dim", highlight=False, markup=False)
    _print_paged(captured.get(), pager=pager)


def fitting(
    columns: Sequence[Column[Row]], rows: Sequence[Row], width: int, enough: int, least: int
) -> list[Column[Row]]:
    """The columns that leave `enough` cells to the names, which are cut to what there is, but not below the `least`."""
    name = next(column for column in columns if column.is_name)
    widths = {column: column.width(rows) for column in columns if column is not name}
    enough = min(enough, max(map(cell_width, name.texts(rows)), default=0))
    while (room := width - sum(widths.values())) < enough:
        first = max(widths, key=lambda column: column.gives_way)
        if not first.gives_way:
            break
        del widths[first]
    cut = replace(name, cell=lambda row: clip(clean(name.cell(row)), max(room, least)))
    return [cut if column is name else column for column in columns if column is name or column in widths]


def drawn(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> Table:
    """A line per row. Cells are texts of their own: in one that is markup, or half of it, nothing is obeyed."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=not column.may_wrap,
            overflow="fold" if column.may_wrap else "ellipsis",  # a long path is one word: it goes on all the same
        )
    for row in rows:
        table.add_row(*(Text(clean(column.cell(row)), style=column.colour(row)) for column in columns))
    return table


def _print_paged(text: str, *, pager: bool) -> None:
    """Print what we painted, out of texts that are clean; in a pager if it is wanted and the terminal is too low."""
    if not pager or not _is_too_long(text):
        painted(sys.stdout).write(text)
        return
    os.environ["LESS"] = f"{os.environ.get('LESS') or _LESS} {_AT_THE_END}"
    echo_in_pager(text)


def _is_too_long(text: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("PAGER") == "":
        return False
    return text.count("\n") >= get_terminal_size().lines  # a line is left for the prompt
