"""`sessions list`."""

from __future__ import annotations

from pathlib import Path

import click

from pi_subagents.models import Status
from pi_subagents.paths import project_root
from pi_subagents.place import Place
from pi_subagents.runs.forms import session_row
from pi_subagents.runs.listing import Wanted, list_sessions, used_by
from pi_subagents.surfaces.cli.catalogs import complete_agent
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.pager import pager_option
from pi_subagents.surfaces.cli.times import moment

_STATUSES = [Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.ABORTED]


@click.command("list")
@click.option(
    "--status", type=click.Choice([status.value for status in _STATUSES]), help="Only sessions with this status."
)
@click.option(
    "--profile",
    "--agent",
    "agent",
    metavar="NAME",
    shell_complete=complete_agent,
    help="Only sessions with this profile or preset.",
)
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="List the sessions of another project.",
)
@click.option("--all", "everywhere", is_flag=True, help="Include all projects.")
@click.option("--since", type=moment, metavar="TIME", help="Only sessions started since: 2h, 3d or 2026-11-01.")
@click.option("--limit", type=click.IntRange(min=1), default=30, show_default=True, metavar="N", help="Show at most N.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, newest first.")
@pager_option
def list_command(
    status: str | None,
    agent: str | None,
    project: Path | None,
    everywhere: bool,
    since: int | None,
    limit: int,
    as_json: bool,
    pager: bool,
) -> None:
    """List the latest sessions of this project, one per line, newest last.

    A line describes the session's latest run; tools, tokens and cost add up all its runs, and the last line totals what
    is shown. Exit code 0, even if the list is empty.
    """
    place = Place.here()
    if everywhere and project is not None:
        raise click.UsageError("--all and --project cannot be used together")
    root = None if everywhere else project_root((project or place.cwd).absolute(), place.agent_dir)
    wanted = Wanted(root, Status(status) if status else None, agent, since, limit)
    found = list_sessions(place, wanted)
    if as_json:
        print_json(list(map(session_row, found, used_by(place, found))))
    elif found:
        from pi_subagents.surfaces.cli.sessions.table import show_sessions

        show_sessions(place, found[::-1], with_project=everywhere, pager=pager)
    else:
        echo(_nothing(wanted), err=True)


def _nothing(wanted: Wanted) -> str:
    if wanted.status or wanted.agent or wanted.since:
        return "No session matches."
    where = "" if wanted.project is None else f" in {wanted.project}"
    other = "" if wanted.project is None else ", or look in all projects with --all"
    return f"No sessions{where} yet; start one with 'pi-subagents run PROMPT'{other}."
