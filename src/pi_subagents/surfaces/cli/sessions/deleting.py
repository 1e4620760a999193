"""Deleting sessions that somebody asked to have deleted: shown first, agreed to, then gone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from pi_subagents.clock import now_ms
from pi_subagents.errors import PiSubagentsError, SessionBusy
from pi_subagents.models import short_ids
from pi_subagents.place import Place
from pi_subagents.runs.retention import Dispensable, Leftover, remove
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text import age, clean, counted, data_size

_MAX_LISTED = 20
_NOT_AGREED = 2


@dataclass(frozen=True)
class Unwanted:
    """What is to be deleted, or has been."""

    sessions: Sequence[Dispensable]
    leftovers: Sequence[Leftover] = ()
    leftovers_size: int = 0

    def __bool__(self) -> bool:
        return bool(self.sessions or self.leftovers)

    def __str__(self) -> str:
        """`2 sessions with 3 runs and 1 leftover, 14 kB`."""
        runs = sum(len(session.run_dirs) for session in self.sessions)
        size = sum(session.size for session in self.sessions) + self.leftovers_size
        parts = [f"{counted(len(self.sessions), 'session')} with {counted(runs, 'run')}"] if self.sessions else []
        parts += [counted(len(self.leftovers), "leftover")] if self.leftovers else []
        return f"{' and '.join(parts)}, {data_size(size)}"


def announce(unwanted: Unwanted) -> None:
    """Say what is to be deleted."""
    short = short_ids(session.session_id for session in unwanted.sessions)
    for session in unwanted.sessions[:_MAX_LISTED]:
        ended = f"{age(now_ms() - session.ended_at)} ago"
        runs = counted(len(session.run_dirs), "run")
        echo(f"{short[session.session_id]}  {ended:>8}  {data_size(session.size):>8}  {runs}  {clean(session.name)}")
    if len(unwanted.sessions) > _MAX_LISTED:
        echo(f"… and {len(unwanted.sessions) - _MAX_LISTED} more")
    echo(f"This will delete {unwanted}.")


def require_consent() -> None:
    """Ask a person, and end the command unless the answer is yes; without a terminal nobody can agree."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        echo("error: nothing was deleted, because there is no terminal to ask at; confirm with --yes", err=True)
        sys.exit(_NOT_AGREED)
    if not click.confirm("Delete this?"):
        echo("Nothing was deleted.")
        sys.exit(1)


def delete_all(unwanted: Unwanted, place: Place) -> int:
    """Delete it and say what has gone; the exit code: 1 if something had to stay."""
    gone: list[Dispensable] = []
    exit_code = 0
    for session in unwanted.sessions:
        try:
            gone.append(remove(session, place.agent_dir))
        except PiSubagentsError as error:
            exit_code = 1
            echo(f"kept: {error}" if isinstance(error, SessionBusy) else f"error: {error}", err=True)
    for leftover in unwanted.leftovers:
        try:
            leftover.remove()
        except PiSubagentsError as error:
            exit_code = 1
            echo(f"error: {error}", err=True)
    deleted = replace(unwanted, sessions=gone)
    echo(f"Deleted {deleted}." if deleted else "Nothing was deleted.")
    return exit_code
