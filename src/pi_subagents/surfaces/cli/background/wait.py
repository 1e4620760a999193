"""`background wait`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from pi_subagents.background.registry import Registry
from pi_subagents.models import Status
from pi_subagents.planning import Place
from pi_subagents.progress import counted
from pi_subagents.store import is_held, load_run
from pi_subagents.surfaces.cli.background.argument import complete_run, find_run
from pi_subagents.surfaces.cli.notices import OWNER, count_as_told
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.stopping import ending_words

_POLL_S = 0.1
_TIMED_OUT = 124
"""As `timeout` has it."""
_INTERRUPTED = 130


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="S", help="Give up after so many seconds.")
@click.option("--any", "any_one", is_flag=True, help="Until one of them is over.")
def wait(runs: tuple[str, ...], timeout: float | None, any_one: bool) -> None:
    """Wait until every RUN is over and say how each ended; without RUN, all that you started in this project.

    Exit code 0 if all that ended were completed, 1 if one failed or was aborted, 124 if the time is up, 130 after
    Ctrl+C, which leaves the runs alone.
    """
    place = Place.here()
    pending = dict.fromkeys(find_run(place, text) for text in runs) or dict.fromkeys(_active(place))
    if not pending:
        echo("No background run of yours is active in this project.", err=True)
        return
    deadline = time.monotonic() + timeout if timeout is not None else None
    try:
        sys.exit(_wait(list(pending), deadline, any_one))
    except KeyboardInterrupt:
        echo("No longer waiting; the runs go on.", err=True)
        sys.exit(_INTERRUPTED)


def _active(place: Place) -> list[Path]:
    return [run.run_dir for run in Registry(place, OWNER).runs() if not run.is_over]


def _wait(pending: list[Path], deadline: float | None, any_one: bool) -> int:
    all_good = True
    while True:
        over = [folder for folder in pending if not is_held(folder)]
        for folder in over:
            pending.remove(folder)
            all_good = _tell(folder) and all_good
        if not pending or (over and any_one):
            return 0 if all_good else 1
        if deadline is not None and time.monotonic() >= deadline:
            echo(f"The time is up; {counted(len(pending), 'run')} not over yet.", err=True)
            return _TIMED_OUT
        time.sleep(_POLL_S)


def _tell(run_dir: Path) -> bool:
    state = load_run(run_dir)
    echo(f"{state.run_id}  {state.name}  {ending_words(state)}")
    count_as_told(state, run_dir)
    return state.status is Status.COMPLETED
