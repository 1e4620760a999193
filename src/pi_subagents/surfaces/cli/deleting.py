"""`sessions delete` and `sessions clean`: what is to go is shown first, agreed to, then gone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from pi_subagents.clock import now_ms
from pi_subagents.errors import InvalidCall, PiSubagentsError, SessionBusy
from pi_subagents.models import short_id, short_ids
from pi_subagents.place import Place
from pi_subagents.runs.listing import known_projects
from pi_subagents.runs.retention import (
    Dispensable,
    Leftover,
    Rule,
    dispensable,
    find_dispensable,
    find_leftovers,
    remove,
)
from pi_subagents.runs.sessions import Session
from pi_subagents.surfaces.cli.options import all_option, complete_session, find_session, moment
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text import age, clean, counted, data_size

_MAX_LISTED = 20
_NOT_AGREED = 2

_yes = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation; required without a terminal.")


@click.command()
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...", shell_complete=complete_session)
@_yes
def delete(sessions: tuple[str, ...], yes: bool) -> None:
    """Delete every SESSION with all its runs. This cannot be undone.

    It lists what it would delete and asks first. If one of them is running or is a foreign record, nothing is deleted.
    Exit code 0 if they were deleted, 1 if not, 2 if there was no terminal to ask at.
    """
    place = Place.here()
    found = {one.id: one for one in (find_session(place, text) for text in sessions)}
    unwanted = _Unwanted([_dispensable(session) for session in found.values()])
    _require_whole_ids(unwanted.sessions, sessions, place)
    _announce(unwanted)
    _delete(unwanted, place, agreed=yes)


def _require_whole_ids(found: Sequence[Dispensable], typed: Sequence[str], place: Place) -> None:
    """Raise InvalidCall for sessions elsewhere of which only a beginning was typed: it may be a slip of the finger."""
    for session in found:
        if session.project != place.project and session.session_id not in typed:
            raise InvalidCall(
                f'Session {session.session_id} ("{session.name}") belongs to {session.project}. '
                "To delete it from here, give its full id."
            )


def _dispensable(session: Session) -> Dispensable:
    try:
        return dispensable(session.run_dirs)
    except SessionBusy as error:
        raise SessionBusy(f"{error} Stop it first: 'pi-subagents sessions stop {short_id(session.id)}'.") from None


@click.command("clean")
@click.option(
    "--older-than",
    "before",
    type=moment,
    metavar="TIME",
    help="Delete sessions that ended before this: 30d, 12h or 2026-11-01.",
)
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the newest N sessions of each project.")
@all_option
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@_yes
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
    _announce(unwanted)
    if dry_run:
        echo("Nothing was deleted (--dry-run).")
        return
    _delete(unwanted, place, agreed=yes)


def _find(projects: Sequence[Path], rule: Rule) -> _Unwanted:
    sessions = [session for project in projects for session in find_dispensable(project, rule)]
    leftovers = [leftover for project in projects for leftover in find_leftovers(project)]
    return _Unwanted(sessions, leftovers)


@dataclass(frozen=True)
class _Unwanted:
    """What is to be deleted, or has been."""

    sessions: Sequence[Dispensable]
    leftovers: Sequence[Leftover] = ()

    def __bool__(self) -> bool:
        return bool(self.sessions or self.leftovers)

    def __str__(self) -> str:
        """`2 sessions with 3 runs and 1 leftover, 14 kB`."""
        runs = sum(len(session.run_dirs) for session in self.sessions)
        size = sum(session.size for session in self.sessions) + sum(leftover.size for leftover in self.leftovers)
        parts = [f"{counted(len(self.sessions), 'session')} with {counted(runs, 'run')}"] if self.sessions else []
        parts += [counted(len(self.leftovers), "leftover")] if self.leftovers else []
        return f"{' and '.join(parts)}, {data_size(size)}"


def _announce(unwanted: _Unwanted) -> None:
    """Say what is to be deleted."""
    short = short_ids(session.session_id for session in unwanted.sessions)
    for session in unwanted.sessions[:_MAX_LISTED]:
        ended = f"{age(now_ms() - session.ended_at)} ago"
        runs = counted(len(session.run_dirs), "run")
        echo(f"{short[session.session_id]}  {ended:>8}  {data_size(session.size):>8}  {runs}  {clean(session.name)}")
    if len(unwanted.sessions) > _MAX_LISTED:
        echo(f"… and {len(unwanted.sessions) - _MAX_LISTED} more")
    echo(f"This will delete {unwanted}.")


def _delete(unwanted: _Unwanted, place: Place, *, agreed: bool) -> None:
    """Ask, delete, say what has gone, and end the command: with 1 if something had to stay."""
    if not agreed:
        _require_consent()
    sessions: list[Dispensable] = []
    leftovers: list[Leftover] = []
    for session in unwanted.sessions:
        try:
            sessions.append(remove(session, place.agent_dir))
        except PiSubagentsError as error:
            echo(f"kept: {error}" if isinstance(error, SessionBusy) else f"error: {error}", err=True)
    for leftover in unwanted.leftovers:
        try:
            leftover.remove()
            leftovers.append(leftover)
        except PiSubagentsError as error:
            echo(f"error: {error}", err=True)
    deleted = _Unwanted(sessions, leftovers)
    echo(f"Deleted {deleted}." if deleted else "Nothing was deleted.")
    sys.exit(len(sessions) + len(leftovers) < len(unwanted.sessions) + len(unwanted.leftovers))


def _require_consent() -> None:
    """Ask a person, and end the command unless the answer is yes; without a terminal nobody can agree."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        echo("error: nothing was deleted, because there is no terminal to ask at; confirm with --yes", err=True)
        sys.exit(_NOT_AGREED)
    if not click.confirm("Delete this?"):
        echo("Nothing was deleted.")
        sys.exit(1)
