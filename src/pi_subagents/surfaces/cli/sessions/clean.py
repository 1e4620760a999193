"""`sessions clean`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from pi_subagents.place import Place
from pi_subagents.runs.listing import known_projects
from pi_subagents.runs.retention import Rule, find_dispensable, find_leftovers
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.sessions.deleting import Unwanted, announce, delete_all, require_consent
from pi_subagents.surfaces.cli.times import moment


@click.command("clean")
@click.option(
    "--older-than",
    "before",
    type=moment,
    metavar="TIME",
    help="Delete sessions that ended before this: 30d, 12h or 2026-11-01.",
)
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N sessions of each project.")
@click.option("--all", "everywhere", is_flag=True, help="Include all projects.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal.")
def clean_command(before: int | None, keep: int | None, everywhere: bool, dry_run: bool, yes: bool) -> None:
    """Delete ended sessions with all their runs, and what killed programs have left behind.

    It lists what it would delete and asks first. With both --older-than and --keep, a session must match both. A
    session is deleted as a whole, and never while one of its runs is active. Exit code 0 if everything was deleted, 1
    if something was kept or you said no, 2 if there was no terminal to ask at.
    """
    if before is None and keep is None:
        raise click.UsageError("say what to delete: --older-than 30d, --keep 100, or both")
    place = Place.here()
    projects = known_projects(place) if everywhere else [place.project]
    unwanted = _find(projects, Rule(before, keep or 0))
    if not unwanted:
        echo("Nothing to delete.")
        return
    announce(unwanted)
    if dry_run:
        echo("Nothing was deleted (--dry-run).")
        return
    if not yes:
        require_consent()
    sys.exit(delete_all(unwanted, place))


def _find(projects: Sequence[Path], rule: Rule) -> Unwanted:
    sessions = [session for project in projects for session in find_dispensable(project, rule)]
    leftovers = [leftover for project in projects for leftover in find_leftovers(project)]
    return Unwanted(sessions, leftovers, sum(leftover.size for leftover in leftovers))
