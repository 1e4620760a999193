"""How runs that other processes hold come to their end, and who is told: the truth, and each end once.

Whichever command comes next in a terminal tells of background runs that were started from one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from pi_subagents.export import error_words, seconds, status_words
from pi_subagents.fold import RunState
from pi_subagents.models import Reason, Status, short_id
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.place import Place
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import short_run_id
from pi_subagents.surfaces.cli.output import echo

_WAIT_S = 8.0
"""Longer than an agent gets between the polite request and the kill."""


def stop_runs(what: str, runs: Sequence[Run]) -> int:
    """Stop those of the runs that are not over, and say what became of `what`; the exit code for it."""
    running = [run for run in runs if not run.is_over]
    if not running:
        echo(f"{what} has already ended: {ending_words(runs[-1].state)}")
        return 0
    for run in running:
        run.stop()
    deadline = time.monotonic() + _WAIT_S
    for run in running:
        try:
            state = run.wait(deadline - time.monotonic()).state
        except TimeoutError:
            follow = f"'pi-subagents sessions show --follow {short_id(run.session_id)}'"
            echo(f"{what} was asked to stop but has not ended within {_WAIT_S:g} s; watch it with {follow}.", err=True)
            return 1
        has_ended = f"has ended: {ending_words(state)}"
        echo(f"{what} {'completed before it could be stopped.' if state.status is Status.COMPLETED else has_ended}")
    return 0


def ending_words(state: RunState) -> str:
    """`✗ failed (timeout) – Timed out after 7s. … (ran for 9.1s)`"""
    if not state.error or (state.reason is Reason.CANCELLED and state.error == CANCELLED_SENTENCE):
        return status_words(state)
    return f"{status_words(state)} – {error_words(state.error, state.reason, seconds(state))}"


def tell_where_to_read(run: Run) -> None:
    """How to get at what an agent has said, for whoever was told only that it has ended."""
    echo(f"hint: see what it did with 'pi-subagents sessions show {short_run_id(run.run_dir)}'", err=True)


def tell_endings(place: Place) -> None:
    """Say on standard error which background runs of this project have ended since the last time."""
    from pi_subagents.runs.background import TERMINAL, tell_ends  # not for every command that stops a run

    tell_ends(place, TERMINAL, partial(echo, err=True))


def count_as_told(run: Run) -> None:
    """Whoever asked for a run and was answered that it is over needs no notice of it."""
    from pi_subagents.runs.background import TERMINAL, mark_announced

    if run.state.background and run.state.owner == TERMINAL and run.is_over:
        mark_announced(run.run_dir)
