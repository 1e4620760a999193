"""`background logs`."""

from __future__ import annotations

import sys

import click

from pi_subagents.place import Place
from pi_subagents.progress import ProgressWords
from pi_subagents.runs.run import Run
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
    found = find_run(Place.here(), run)  # a lost run is closed by this, so that its end is told too
    words = ProgressWords(cwd=found.state.cwd, multiline=True)
    try:
        for event in found.follow() if follow else found.events():
            if line := words.say(event):
                echo_text(line)
    except KeyboardInterrupt:
        echo("Stopped following; the run continues.", err=True)
        sys.exit(_INTERRUPTED)
    now = Run.load(found.run_dir)
    count_as_told(now)
    if not now.is_over:
        echo(f"Still {now.state.status}; use -f to follow it.", err=True)
