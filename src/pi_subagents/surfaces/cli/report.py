"""What people see when their tasks are done: the answers, then a table of how it went.

Standard output has the answers and nothing else, so that it can be piped into a file or another program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from pi_subagents.errors import StoreError
from pi_subagents.models import short_id
from pi_subagents.runs.forms import result_row
from pi_subagents.runs.run import RunResult
from pi_subagents.surfaces.cli import json_output
from pi_subagents.surfaces.cli.answer_files import AnswerFiles
from pi_subagents.surfaces.cli.markdown import markdown_printer
from pi_subagents.surfaces.cli.output import PIPE_CELLS, Say, echo, echo_painted
from pi_subagents.text import cell_width, clip, money
from pi_subagents.text.harmless import clean, painted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_RULE_CELLS = 60
_NOTHING_SAID = "(no text output from sub-agent)"


def print_answers(results: Sequence[RunResult], *, plain: bool = False, styled: bool = True) -> None:
    """The answers on standard output, each of several under its name; whatever else there is to say on standard error.

    On a terminal they are rendered, unless `plain`, and headings are in colour if `styled`.
    """
    show = markdown_printer(plain=plain)
    for number, result in enumerate(results):
        if len(results) > 1:
            echo_painted(("\n" if number else "") + click.style(_heading(result), bold=True), color=_color(styled))
        if text := result.output.strip():
            show(text)
        elif result.ok:
            echo(_NOTHING_SAID, err=True)
        # On a terminal it stands under its heading.
        _tell_failure(result, named=len(results) > 1 and not sys.stdout.isatty(), styled=styled)


def write_answers(results: Sequence[RunResult], files: AnswerFiles, *, say: Say, styled: bool = True) -> bool:
    """The answers into files; says where they are. False if one could not be written, which is said too."""
    all_written = True
    for result in results:
        if result.output.strip():
            try:
                say(f"Wrote {files.write(result)}")
            except StoreError as error:
                all_written = False
                echo(f"error: {error}", err=True)
        elif result.ok:
            say(f"{result.name}: {_NOTHING_SAID}, no file written")
        _tell_failure(result, named=len(results) > 1, styled=styled)
    return all_written


def _tell_failure(result: RunResult, *, named: bool, styled: bool) -> None:
    if result.error:
        from pi_subagents.export import error_words

        whose = f"{clip(result.name, _RULE_CELLS)}: " if named else ""
        line = clean(f"✗ {whose}{error_words(result.error, result.reason, result.duration_s)}")
        echo_painted(click.style(line, fg="red"), err=True, color=_color(styled))


def _heading(result: RunResult) -> str:
    columns = get_terminal_size().columns if sys.stdout.isatty() else PIPE_CELLS
    name = clip(clean(result.name), columns - len("──  ───"))
    rule_cells = min(_RULE_CELLS, get_terminal_size().columns - len("──  "))
    return f"── {name} " + "─" * max(3, rule_cells - cell_width(name))


def _color(styled: bool) -> bool | None:
    return None if styled else False


def print_summary(results: Sequence[RunResult], *, styled: bool = True) -> None:
    """One row per task with time, tools, tokens and cost, and where the records are: all of it on standard error."""
    from rich.console import Console

    width = None if sys.stderr.isatty() or "COLUMNS" in os.environ else PIPE_CELLS
    console = Console(file=painted(sys.stderr), force_terminal=None if styled else False, width=width)
    console.print()
    console.print(_fitting_table(results, console))
    if folder := _common_folder(results):
        words = f"\nRecords: {clean(_short(folder))}"
        console.print(words, style="dim", highlight=False, soft_wrap=True, markup=False)


def _fitting_table(results: Sequence[RunResult], console: Console) -> Table:
    """Where a table is too wide, names are cut and then columns left out: half a session id is of no use."""
    from rich.measure import Measurement

    longest = max((cell_width(clean(result.name)) for result in results), default=0)
    unbounded = console.options.update(max_width=_UNBOUNDED)
    columns = dict(_COLUMNS)
    while True:
        table = _table(results, columns)
        excess = Measurement.get(console, unbounded, table).maximum - console.width
        left_out = next((name for name in _LEAVE_OUT if name in columns), None)
        if longest - excess >= min(longest, _MIN_NAME_CELLS) or left_out is None:
            table.columns[0].max_width = max(1, longest - max(excess, 0))
            return table
        del columns[left_out]


def _table(results: Sequence[RunResult], columns: Mapping[str, _Cell]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in columns:
        table.add_column(name, no_wrap=True, overflow="ellipsis", justify="right" if name in _FIGURES else "left")
    for result in results:
        # As texts of their own: in a name that is markup, or half of it, nothing is obeyed.
        colour = {"status": "green" if result.ok else "red"}
        table.add_row(*(Text(cell(result), style=colour.get(name, "")) for name, cell in columns.items()))
    return table


_Cell = Callable[[RunResult], str]
_COLUMNS: Mapping[str, _Cell] = {
    "task": lambda result: clean(result.name),
    "status": lambda result: f"{'✓' if result.ok else '✗'} {result.status}",
    "time": lambda result: f"{result.duration_s:.1f}s",
    "tools": lambda result: str(result.tool_count),
    "tokens": lambda result: f"{result.usage.total_tokens:,}",
    "cost": lambda result: money(result.usage.cost),
    "session": lambda result: short_id(result.session_id),
}
_FIGURES = frozenset({"time", "tools", "tokens", "cost"})
_LEAVE_OUT = ("tools", "tokens", "cost", "time")
_MIN_NAME_CELLS = 10
_UNBOUNDED = 10_000


def _common_folder(results: Sequence[RunResult]) -> Path | None:
    return results[0].run_dir.parent if results else None


def _short(folder: Path) -> str:
    try:
        return f"{folder.relative_to(Path.cwd())}/"
    except ValueError:
        return f"{folder}/"


def print_results_json(results: Sequence[RunResult]) -> None:
    """The same for programs."""
    json_output.print_json([result_row(result) for result in results])
