"""`sessions clean`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pi_subagents.clock import now_ms
from pi_subagents.errors import PiSubagentsError, SessionBusy
from pi_subagents.planning import Place
from pi_subagents.progress import age, clean, counted, data_size
from pi_subagents.retention import Dispensable, Rule, find_dispensable, find_leftovers, remove
from pi_subagents.store import Index, disk_size, remove_leftover
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.times import moment

_MAX_LISTED = 20


@click.command("clean")
@click.option(
    "--older-than", "before", type=moment, metavar="TIME", help="What ended before then: 30d, 12h or 2026-11-01."
)
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Never the newest N sessions of a project.")
@click.option("--all", "everywhere", is_flag=True, help="Of all projects.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def clean_command(before: int | None, keep: int | None, everywhere: bool, dry_run: bool, yes: bool) -> None:
    """Delete sessions that are over, with all their runs, and what killed programs have left behind.

    With --older-than and --keep both have to hold. A session goes as a whole, and never while a run of it goes on. Exit
    code 0 if everything was deleted, 1 if something had to stay or you said no.
    """
    if before is None and keep is None:
        raise click.UsageError("say what may go: --older-than 30d, --keep 100, or both")
    place = Place.here()
    index = Index(place.agent_dir)
    projects = sorted({place.project, *index.projects()}) if everywhere else [place.project]
    found = _find(projects, Rule(before, keep or 0))
    if not found.sessions and not found.leftovers:
        echo("There is nothing to delete.")
        return
    _announce(found)
    if dry_run:
        echo("Nothing was deleted (--dry-run).")
        return
    if sys.stdin.isatty() and not yes and not click.confirm("Delete this?"):
        echo("Nothing was deleted.")
        sys.exit(1)
    sys.exit(_delete(found, index))


@dataclass(frozen=True)
class _Found:
    sessions: Sequence[Dispensable]
    leftovers: Sequence[Path]
    leftovers_size: int


def _find(projects: Sequence[Path], rule: Rule) -> _Found:
    sessions = [session for project in projects for session in find_dispensable(project, rule)]
    leftovers = [path for project in projects for path in find_leftovers(project)]
    return _Found(sessions, leftovers, sum(map(disk_size, leftovers)))


def _announce(found: _Found) -> None:
    for session in found.sessions[:_MAX_LISTED]:
        ended = f"{age(now_ms() - session.ended_at)} ago"
        runs = counted(len(session.run_dirs), "run")
        echo(f"{session.session_id}  {ended:>8}  {data_size(session.size):>8}  {runs}  {clean(session.name)}")
    if len(found.sessions) > _MAX_LISTED:
        echo(f"… and {len(found.sessions) - _MAX_LISTED} more")
    echo(f"To be deleted: {_sum(found.sessions, found.leftovers, found.leftovers_size)}.")


def _sum(sessions: Sequence[Dispensable], leftovers: Sequence[Path], leftovers_size: int) -> str:
    runs = sum(len(session.run_dirs) for session in sessions)
    size = sum(session.size for session in sessions) + leftovers_size
    parts = [f"{counted(len(sessions), 'session')} with {counted(runs, 'run')}"] if sessions else []
    parts += [counted(len(leftovers), "leftover")] if leftovers else []
    return f"{' and '.join(parts)}, {data_size(size)}"


def _delete(found: _Found, index: Index) -> int:
    gone: list[Dispensable] = []
    exit_code = 0
    for session in found.sessions:
        try:
            gone.append(remove(session, index))
        except PiSubagentsError as error:
            exit_code = 1
            echo(f"kept: {error}" if isinstance(error, SessionBusy) else f"error: {error}", err=True)
    for path in found.leftovers:
        try:
            remove_leftover(path)
        except PiSubagentsError as error:
            exit_code = 1
            echo(f"error: {error}", err=True)
    done = f"Deleted {_sum(gone, found.leftovers, found.leftovers_size)}."
    echo(done if gone or found.leftovers else "Nothing was deleted.")
    return exit_code
