"""`background list`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pi_subagents.background.registry import KnownRun, newest_runs
from pi_subagents.clock import now_ms
from pi_subagents.paths import project_of
from pi_subagents.planning import Place
from pi_subagents.progress import age_of, clean, duration
from pi_subagents.rows import run_row
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.tables import Column, print_table


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Of all projects.")
@click.option("--limit", type=click.IntRange(min=1), default=30, show_default=True, metavar="N", help="At most N.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(everywhere: bool, limit: int, as_json: bool) -> None:
    """List the background runs of this project, newest first, whoever started them; queued ones wait for their turn.

    Exit code 0, also when there is none.
    """
    place = Place.here()
    runs = newest_runs(place, limit, everywhere=everywhere)
    if as_json:
        print_json([_as_json(run) for run in runs])
    elif runs:
        print_table(
            runs,
            (*_COLUMNS, _PROJECT) if everywhere else _COLUMNS,
            status=lambda run: run.state.status,
            is_damaged=lambda run: run.state.is_damaged,
            name=lambda run: run.state.name,
        )
    else:
        where = "" if everywhere else f" in {place.project}"
        echo(f"No background runs{where} yet; begin one with 'pi-subagents background start'.", err=True)


def _as_json(run: KnownRun) -> dict[str, Any]:
    about = {"name": run.state.name, "owner": run.state.owner, "project": str(project_of(run.run_dir))}
    return {**run_row(run.state, run.run_dir), **about}


def _time(run: KnownRun) -> str:
    state = run.state
    if state.started_at is None:
        return "–"
    return duration(((state.completed_at or now_ms()) - state.started_at) / 1000)


_COLUMNS: tuple[Column[KnownRun], ...] = (
    Column("preset", lambda run: clean(run.state.preset or "–")),
    Column("age", lambda run: age_of(run.state.created_at, now_ms()), right=True),
    Column("time", _time, right=True),
    Column("tokens", lambda run: f"{run.state.usage.total_tokens:,}", from_width=90, right=True),
    Column("run", lambda run: run.state.run_id),
)
_PROJECT: Column[KnownRun] = Column("project", lambda run: clean(str(project_of(Path(run.run_dir)))), may_wrap=True)
