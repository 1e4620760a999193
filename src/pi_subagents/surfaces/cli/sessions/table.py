"""Sessions as a table."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.clock import now_ms
from pi_subagents.models import short_ids
from pi_subagents.place import Place
from pi_subagents.runs.listing import NOTHING_USED, SessionSummary, used_by
from pi_subagents.surfaces.cli.tables import Column, Table, agent_column, project_column, totals
from pi_subagents.text import age_of, clean, clip, duration, money

_MODEL_CELLS = 30


def show_sessions(place: Place, sessions: Sequence[SessionSummary], *, with_project: bool, pager: bool) -> None:
    """One row per session in the order given, and what all of them have used."""
    short = short_ids(session.latest.session_id for session in sessions)
    used = {one.run_dir: total for one, total in zip(sessions, used_by(place, sessions), strict=True)}
    columns: list[Column[SessionSummary]] = [
        Column("session", lambda session: short[session.latest.session_id]),
        agent_column(lambda session: session.state.agent),
        Column("age", lambda session: age_of(session.state.created_at, now_ms()), right=True),
        Column("time", _time, right=True, gives_way=2),
        Column("runs", lambda session: str(session.run_count), right=True, gives_way=3),
        Column("tools", lambda session: str(used[session.run_dir].tool_count), right=True, gives_way=5),
        Column("tokens", lambda session: f"{used[session.run_dir].tokens:,}", right=True, gives_way=4),
        Column("cost", lambda session: money(used[session.run_dir].cost), right=True, gives_way=1),
        Column("model", _model, gives_way=6),
    ]
    if with_project:
        columns.append(project_column(lambda session: session.latest.project))
    total = sum(used.values(), NOTHING_USED)
    Table(
        columns,
        status=lambda session: session.state.status,
        is_damaged=lambda session: session.state.is_damaged,
        name=lambda session: session.state.name,
        footer=totals(len(sessions), "session", total.tokens, total.cost),
    ).show(sessions, pager=pager)


def _time(session: SessionSummary) -> str:
    state = session.state
    if state.started_at is None:
        return "–"
    return duration(((state.completed_at or now_ms()) - state.started_at) / 1000)


def _model(session: SessionSummary) -> str:
    return clip("/".join(clean(part) for part in (session.state.provider, session.state.model) if part), _MODEL_CELLS)
