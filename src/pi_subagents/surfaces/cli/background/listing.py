"""`background list`."""

from __future__ import annotations

import click

from pi_subagents.clock import now_ms
from pi_subagents.place import Place
from pi_subagents.runs.background import newest_runs
from pi_subagents.runs.forms import background_row
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import short_run_ids
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.pager import pager_option
from pi_subagents.surfaces.cli.tables import Column, Table, agent_column, project_column, totals
from pi_subagents.text import age_of, duration, money


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Include all projects.")
@click.option("--limit", type=click.IntRange(min=1), default=30, show_default=True, metavar="N", help="Show at most N.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, newest first.")
@pager_option
def list_command(everywhere: bool, limit: int, as_json: bool, pager: bool) -> None:
    """List the latest background runs of this project, whoever started them, newest last.

    Queued runs are waiting for a slot. Exit code 0, even if the list is empty.
    """
    place = Place.here()
    runs = newest_runs(place, limit, everywhere=everywhere)
    if as_json:
        print_json([background_row(run) for run in runs])
    elif runs:
        _table(runs, everywhere).show(runs[::-1], pager=pager)
    else:
        where = "" if everywhere else f" in {place.project}"
        echo(f"No background runs{where} yet; start one with 'pi-subagents background start'.", err=True)


def _table(runs: list[Run], everywhere: bool) -> Table[Run]:
    short = short_run_ids(run.run_dir for run in runs)
    columns: list[Column[Run]] = [
        Column("run", lambda run: short[run.run_dir]),
        agent_column(lambda run: run.state.agent),
        Column("age", lambda run: age_of(run.state.created_at, now_ms()), right=True),
        Column("time", _time, right=True, gives_way=2),
        Column("tokens", lambda run: f"{run.state.usage.total_tokens:,}", right=True, gives_way=3),
        Column("cost", lambda run: money(run.state.usage.cost), right=True, gives_way=1),
    ]
    if everywhere:
        columns.append(project_column(lambda run: run.project))
    usages = [run.state.usage for run in runs]
    return Table(
        columns,
        status=lambda run: run.state.status,
        is_damaged=lambda run: run.state.is_damaged,
        name=lambda run: run.state.name,
        footer=totals(len(runs), "run", sum(usage.total_tokens for usage in usages), sum(u.cost for u in usages)),
    )


def _time(run: Run) -> str:
    state = run.state
    if state.started_at is None:
        return "–"
    return duration(((state.completed_at or now_ms()) - state.started_at) / 1000)
