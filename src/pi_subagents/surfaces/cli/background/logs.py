"""`background logs`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from pi_subagents.models.event import AnyEvent
from pi_subagents.place import Place
from pi_subagents.progress import ProgressWords
from pi_subagents.runs.following import follow_run
from pi_subagents.store import JOURNAL_FILE, load_run, read_journal
from pi_subagents.surfaces.cli.background.argument import find_run, run_argument
from pi_subagents.surfaces.cli.notices import count_as_told
from pi_subagents.surfaces.cli.output import echo, echo_text

_INTERRUPTED = 130


@click.command()
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the run ends.")
def logs(run: str, follow: bool) -> None:
    """Print what RUN has done so far, one line per event; 'sessions show' prints it in full.

    Exit code 0 if the run exists, however it ended; 130 after Ctrl+C, which does not stop the run.
    """
    run_dir = find_run(Place.here(), run)
    state = load_run(run_dir)  # a lost run is closed first, so that its end is told too
    words = ProgressWords(cwd=state.cwd, multiline=True)
    try:
        for event in _events(run_dir, follow):
            if line := words.say(event):
                echo_text(line)
    except KeyboardInterrupt:
        echo("Stopped following; the run continues.", err=True)
        sys.exit(_INTERRUPTED)
    state = load_run(run_dir)
    count_as_told(state, run_dir)
    if not state.status.is_terminal:
        echo(f"Still {state.status}; use -f to follow it.", err=True)


def _events(run_dir: Path, follow: bool) -> Iterable[AnyEvent]:
    return follow_run(run_dir) if follow else read_journal(run_dir / JOURNAL_FILE)
