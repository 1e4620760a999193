"""Sessions as a table."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.clock import now_ms
from pi_subagents.listing import SessionSummary
from pi_subagents.progress import age_of, clean, clip, duration, money
from pi_subagents.surfaces.cli.tables import Column, print_table

_AGENT_CELLS = 40


def _time(session: SessionSummary) -> str:
    if session.started_at is None:
        return "–"
    return duration(((session.completed_at or now_ms()) - session.started_at) / 1000)


def _agent(session: SessionSummary) -> str:
    model = "/".join(part for part in (session.provider, session.model) if part)
    return clip(" · ".join(clean(part) for part in (session.profile, model) if part), _AGENT_CELLS)


_COLUMNS: tuple[Column[SessionSummary], ...] = (
    Column("session", lambda session: session.session_id),
    Column("age", lambda session: age_of(session.created_at, now_ms()), right=True),
    Column("time", _time, right=True),
    Column("tools", lambda session: str(session.tool_count), from_width=90, right=True),
    Column("tokens", lambda session: f"{session.tokens:,}", from_width=80, right=True),
    Column("cost", lambda session: money(session.cost), from_width=100, right=True),
    Column("runs", lambda session: str(session.run_count), right=True),
    Column("profile · model", _agent, from_width=120),
)
_PROJECT: Column[SessionSummary] = Column("project", lambda session: clean(str(session.project)), may_wrap=True)


def print_sessions(sessions: Sequence[SessionSummary], *, with_project: bool) -> None:
    """One row per session."""
    columns = (*_COLUMNS, _PROJECT) if with_project else _COLUMNS
    print_table(
        sessions,
        columns,
        status=lambda session: session.status,
        is_damaged=lambda session: session.is_damaged,
        name=lambda session: session.name,
    )
