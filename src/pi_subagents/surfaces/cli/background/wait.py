"""`background wait`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from pi_subagents.models import Status
from pi_subagents.place import Place
from pi_subagents.runs.background import Registry
from pi_subagents.runs.forms import background_row
from pi_subagents.runs.run import Run, as_they_end
from pi_subagents.runs.sessions import short_run_id
from pi_subagents.surfaces.cli.background.argument import complete_run, find_run
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.notices import OWNER, count_as_told
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.stopping import ending_words, tell_where_to_read
from pi_subagents.surfaces.cli.times import Duration
from pi_subagents.text import clip, counted

_TIMED_OUT = 124
"""As `timeout` has it."""
_INTERRUPTED = 130
_MAX_NAMES = 4
_NAME_CELLS = 40


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@click.option("--timeout", type=Duration(), help="Give up after this time: 90, 90s, 5m, 1h30m.")
@click.option("--any", "any_one", is_flag=True, help="Return as soon as one of them ends.")
@click.option("--json", "as_json", is_flag=True, help="Print the final status of each run as JSON.")
def wait(runs: tuple[str, ...], timeout: float | None, any_one: bool, as_json: bool) -> None:
    """Wait for every RUN to end and report how each ended.

    Without RUN, wait for all runs that you started in this project and whose end you have not seen yet. Exit code 0 if
    every run that ended completed, 1 if one failed or was aborted, 124 on timeout, 130 after Ctrl+C, which does not
    stop the runs.
    """
    place = Place.here()
    named = (find_run(place, text) for text in runs)
    wanted = list({run.run_dir: run for run in named}.values()) or _untold(place)
    if not wanted and not as_json:
        echo("You have no active background runs in this project, and none left to report.", err=True)
        return
    if not as_json:
        _say_whom(wanted)
    over: list[Run] = []
    exit_code = _wait(wanted, over, timeout, any_one, quiet=as_json)
    if as_json:
        _print(wanted)
    elif exit_code <= 1:
        tell_where_to_read(over[0])
    sys.exit(exit_code)


def _untold(place: Place) -> list[Run]:
    registry = Registry(place, OWNER)
    active = [run for run in registry.runs() if not run.is_over and not run.state.foreign]
    found = {run.run_dir: run for run in (*active, *registry.unannounced())}
    return sorted(found.values(), key=lambda run: run.id)


def _say_whom(runs: Sequence[Run]) -> None:
    """A wait may take hours: say what for, unless nothing is left to wait for."""
    if left := [run for run in runs if not run.is_done]:
        names = ", ".join(clip(run.state.name, _NAME_CELLS) for run in left[:_MAX_NAMES])
        more = f" and {len(left) - _MAX_NAMES} more" if len(left) > _MAX_NAMES else ""
        echo(f"waiting for {counted(len(left), 'run')}: {names}{more}; Ctrl+C does not stop them", err=True)


def _wait(runs: Sequence[Run], over: list[Run], timeout: float | None, any_one: bool, *, quiet: bool) -> int:
    """Tell every end as it comes, and put the run to those that are `over`; the exit code."""
    try:
        for ended in as_they_end(runs, timeout):
            over += ended
            for run in ended if not quiet else ():
                _tell(run)
            if any_one:
                break
    except KeyboardInterrupt:
        echo("Stopped waiting; the runs continue.", err=True)
        return _INTERRUPTED
    if len(over) < len(runs) and not (any_one and over):
        echo(f"Timed out waiting for {counted(len(runs) - len(over), 'run')}.", err=True)
        return _TIMED_OUT
    return int(any(run.state.status is not Status.COMPLETED for run in over))


def _tell(run: Run) -> None:
    echo(f"{short_run_id(run.run_dir)}  {run.state.name}  {ending_words(run.state)}")
    count_as_told(run)


def _print(waited_for: Sequence[Run]) -> None:
    runs = [Run.load(run.run_dir) for run in waited_for]
    print_json([background_row(run) for run in runs])
    for run in runs:
        count_as_told(run)
