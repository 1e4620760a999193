"""`background wait`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from pi_subagents.models import Status
from pi_subagents.place import Place
from pi_subagents.runs.background import KnownRun, Registry
from pi_subagents.runs.lookup import short_run_id
from pi_subagents.store import is_held, load_run
from pi_subagents.surfaces.cli.background.argument import complete_run, find_run
from pi_subagents.surfaces.cli.background.rows import background_row
from pi_subagents.surfaces.cli.json_output import print_json
from pi_subagents.surfaces.cli.notices import OWNER, count_as_told
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.stopping import ending_words, tell_where_to_read
from pi_subagents.surfaces.cli.times import Duration
from pi_subagents.text import clip, counted

_POLL_S = 0.1
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
    wanted = list(dict.fromkeys(find_run(place, text) for text in runs)) or _untold(place)
    if not wanted and not as_json:
        echo("You have no active background runs in this project, and none left to report.", err=True)
        return
    if not as_json:
        _say_whom(wanted)
    deadline = time.monotonic() + timeout if timeout is not None else None
    exit_code = _wait(wanted, deadline, any_one, quiet=as_json)
    if as_json:
        _print(wanted)
    elif exit_code <= 1:
        tell_where_to_read(next(folder for folder in wanted if not is_held(folder)))
    sys.exit(exit_code)


def _untold(place: Place) -> list[Path]:
    registry = Registry(place, OWNER)
    active = [run for run in registry.runs() if not run.is_over and not run.state.foreign]
    return sorted({run.run_dir for run in (*active, *registry.unannounced())}, key=lambda folder: folder.name)


def _say_whom(runs: Sequence[Path]) -> None:
    """A wait may take hours: say what for, unless nothing is left to wait for."""
    if held := [folder for folder in runs if is_held(folder)]:
        names = ", ".join(clip(load_run(folder).name, _NAME_CELLS) for folder in held[:_MAX_NAMES])
        more = f" and {len(held) - _MAX_NAMES} more" if len(held) > _MAX_NAMES else ""
        echo(f"waiting for {counted(len(held), 'run')}: {names}{more}; Ctrl+C does not stop them", err=True)


def _wait(runs: Sequence[Path], deadline: float | None, any_one: bool, *, quiet: bool) -> int:
    """Tell every end as it comes; the exit code."""
    pending, all_good = list(runs), True
    try:
        while pending:
            over = [folder for folder in pending if not is_held(folder)]
            for folder in over:
                pending.remove(folder)
                all_good = _is_good(folder, quiet) and all_good
            if over and any_one:
                break
            if pending and deadline is not None and time.monotonic() >= deadline:
                echo(f"Timed out waiting for {counted(len(pending), 'run')}.", err=True)
                return _TIMED_OUT
            if pending:
                time.sleep(_POLL_S)
    except KeyboardInterrupt:
        echo("Stopped waiting; the runs continue.", err=True)
        return _INTERRUPTED
    return 0 if all_good else 1


def _is_good(run_dir: Path, quiet: bool) -> bool:
    state = load_run(run_dir)
    if not quiet:
        echo(f"{short_run_id(run_dir)}  {state.name}  {ending_words(state)}")
        count_as_told(state, run_dir)
    return state.status is Status.COMPLETED


def _print(run_dirs: Sequence[Path]) -> None:
    runs = [KnownRun(load_run(folder), folder) for folder in run_dirs]
    print_json([background_row(run) for run in runs])
    for run in runs:
        count_as_told(run.state, run.run_dir)
