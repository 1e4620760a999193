"""`background stop`."""

from __future__ import annotations

import sys

import click

from pi_subagents.place import Place
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import short_run_id
from pi_subagents.surfaces.cli.background.argument import find_run, run_argument
from pi_subagents.surfaces.cli.notices import count_as_told
from pi_subagents.surfaces.cli.stopping import stop_runs


@click.command()
@run_argument
def stop(run: str) -> None:
    """Stop RUN, running or queued, wait until all its processes are gone, and report how it ended.

    Exit code 0 if the run has ended, now or earlier; 1 if it did not end in time or does not exist.
    """
    found = find_run(Place.here(), run)
    exit_code = stop_runs(f"Run {short_run_id(found.run_dir)}", [found])
    count_as_told(Run.load(found.run_dir))
    sys.exit(exit_code)
