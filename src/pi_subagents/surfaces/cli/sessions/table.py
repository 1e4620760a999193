"""Sessions as a table that fits its terminal: the narrower, the fewer columns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pi_subagents.clock import now_ms
from pi_subagents.listing import SessionSummary
from pi_subagents.models import Status
from pi_subagents.progress import age, clean, duration, money

_ICONS = {Status.QUEUED: "·", Status.RUNNING: "⏳", Status.COMPLETED: "✓", Status.FAILED: "✗", Status.ABORTED: "✗"}
_COLOURS = {Status.COMPLETED: "green", Status.FAILED: "red", Status.ABORTED: "red"}
_PIPE_WIDTH = 1000
"""Nothing is cut where no terminal is."""
_NAME_CELLS = 40


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
    return " · ".join(clean(part) for part in (session.profile, model) if part)


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
    """One row per session."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console() if sys.stdout.isatty() else Console(width=_PIPE_WIDTH)
    columns = [column for column in _COLUMNS if console.width >= column.from_width]
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("status", no_wrap=True, min_width=11)
    table.add_column("name", overflow="ellipsis", no_wrap=True, max_width=_NAME_CELLS, ratio=1)
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=16 if column.title == "session" else None,
        )
    if with_project:
        table.add_column("project", overflow="fold")
    for session in sessions:
        status = Text(f"{_ICONS[session.status]} {session.status}", style=_COLOURS.get(session.status, "yellow"))
        cells = [Text(column.cell(session)) for column in columns]
        project = [Text(clean(str(session.project)))] if with_project else []
        table.add_row(status, Text(clean(session.name)), *cells, *project)
    console.print(table)
