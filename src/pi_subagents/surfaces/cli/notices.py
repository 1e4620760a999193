"""The ends of background runs that were started from a terminal: told once, by whichever command comes next."""

from __future__ import annotations

from functools import partial

from pi_subagents.place import Place
from pi_subagents.runs.background import TERMINAL, mark_announced, tell_ends
from pi_subagents.runs.run import Run
from pi_subagents.surfaces.cli.output import echo

OWNER = TERMINAL


def tell_endings(place: Place) -> None:
    """Say on standard error which background runs of this project have ended since the last time."""
    tell_ends(place, OWNER, partial(echo, err=True))


def count_as_told(run: Run) -> None:
    """Whoever asked for a run and was answered that it is over needs no notice of it."""
    if run.state.background and run.state.owner == OWNER and run.is_over:
        mark_announced(run.run_dir)
