"""`sessions stop`."""

from __future__ import annotations

import sys

import click

from pi_subagents.models import short_id
from pi_subagents.place import Place
from pi_subagents.runs.run import Run
from pi_subagents.surfaces.cli.sessions.argument import find_session, session_argument
from pi_subagents.surfaces.cli.stopping import stop_runs


@click.command()
@session_argument
def stop(session: str) -> None:
    """Stop SESSION if it is running, wait until all its processes are gone, and report how it ended.

    Exit code 0 if the session has ended, now or earlier; 1 if it did not end in time or does not exist.
    """
    found = find_session(Place.here(), session)
    sys.exit(stop_runs(f"Session {short_id(found.id)}", [Run.load(folder) for folder in found.run_dirs]))
