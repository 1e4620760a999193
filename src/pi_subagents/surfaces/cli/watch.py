"""`watch`."""

from __future__ import annotations

import os
import sys

import click

from pi_subagents.errors import InvalidCall
from pi_subagents.text.harmless import wants_colours


@click.command()
@click.option("--project", "only_project", is_flag=True, help="Show only the current project's runs.")
def watch(only_project: bool) -> None:
    """Watch running and recent runs on this machine, full-screen, whoever started them; ? lists the keys.

    You can start, steer, stop and resume agents there. Leaving does not stop any run.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # textual draws on standard error
        raise InvalidCall("watch needs a terminal; 'pi-subagents sessions list --all' lists the runs without one")
    if wants_colours(os.environ):
        os.environ.pop("NO_COLOR", None)  # textual would obey an empty one, too
    from pi_subagents.place import Place
    from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
    from pi_subagents.surfaces.watch import watch as watch_runs

    place = Place.here()
    try:
        run_until_signalled(watch_runs(place, place.project if only_project else None))
    except Interrupted as signal:
        sys.exit(signal.exit_code)
