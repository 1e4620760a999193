"""Sessions as a table that fits its terminal: the narrower, the fewer columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pi_subagents.clock import now_ms
from pi_subagents.listing import SessionSummary
from pi_subagents.models import Status
from pi_subagents.progress import age, cell_width, clean, clip, duration, money

_ICONS = {Status.QUEUED: "·", Status.RUNNING: "⏳", Status.COMPLETED: "✓", Status.FAILED: "✗", Status.ABORTED: "✗"}
_COLOURS = {Status.COMPLETED: "green", Status.FAILED: "red", Status.ABORTED: "red"}
_PIPE_WIDTH = 1000
"""Nothing is cut where no terminal is."""
_GAP = 2
_STATUS_CELLS = len("✓ completed") + _GAP
_MIN_NAME_CELLS = 8
_AGENT_CELLS = 40


@dataclass(frozen=True)
class _Column:
    """`from_width`: the column is left out on narrower terminals."""

    title: str
    cell: Callable[[SessionSummary], str]
    from_width: int = 0
    right: bool = False


def _time(session: SessionSummary) -> str:
    if session.started_at is None:
        return "–"
    return duration(((session.completed_at or now_ms()) - session.started_at) / 1000)


def _agent(session: SessionSummary) -> str:
    model = "/".join(part for part in (session.provider, session.model) if part)
    return clip(" · ".join(clean(part) for part in (session.profile, model) if part), _AGENT_CELLS)


_COLUMNS = (
    _Column("session", lambda session: session.session_id),
    _Column("age", lambda session: age(now_ms() - (session.created_at or 0)), right=True),
    _Column("time", _time, right=True),
    _Column("tools", lambda session: str(session.tool_count), from_width=90, right=True),
    _Column("tokens", lambda session: f"{session.tokens:,}", from_width=80, right=True),
    _Column("cost", lambda session: money(session.cost), from_width=100, right=True),
    _Column("runs", lambda session: str(session.run_count), right=True),
    _Column("profile · model", _agent, from_width=120),
)


def print_table(sessions: Sequence[SessionSummary], *, with_project: bool) -> None:
    """One row per session; the name gets the room that the others leave."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)
    columns = [column for column in _COLUMNS if console.width >= column.from_width]
    if with_project:
        columns.append(_Column("project", lambda session: clean(str(session.project))))
    rows = [[column.cell(session) for column in columns] for session in sessions]
    room = console.width - sum(map(_width, zip([column.title for column in columns], *rows, strict=True)))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("status", no_wrap=True)
    table.add_column("name", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left", no_wrap=column.title != "project")
    for session, row in zip(sessions, rows, strict=True):
        status = Text(f"{_ICONS[session.status]} {session.status}", style=_COLOURS.get(session.status, "yellow"))
        name = clip(clean(session.name), max(room - _STATUS_CELLS, _MIN_NAME_CELLS))
        table.add_row(status, Text(name), *map(Text, row))
    console.print(table)


def _width(cells: Sequence[str]) -> int:
    return max(map(cell_width, cells)) + _GAP
