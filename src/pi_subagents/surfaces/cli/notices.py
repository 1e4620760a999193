"""The ends of background runs that were started from a terminal: told once, by whichever command comes next."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.fold import RunState
from pi_subagents.place import Place
from pi_subagents.runs.background import TERMINAL, Registry, announcement, mark_announced
from pi_subagents.runs.lookup import short_run_ids
from pi_subagents.store import wait_for_file
from pi_subagents.surfaces.cli.output import echo

OWNER = TERMINAL
_LOCK = "notices"
_LOCK_S = 3.0
"""Another terminal that is stopped while it tells them tells them later."""


def tell_endings(place: Place) -> None:
    """Say on standard error which background runs of this project have ended since the last time.

    A message goes out before it is noted that it did, so that a crash loses none; the lock keeps two terminals from
    telling the same.
    """
    registry = Registry(place, OWNER)
    if not registry.unannounced():
        return
    try:
        lock = wait_for_file(place.agent_dir / "subagents" / _LOCK, _LOCK_S)
    except OSError:  # better told twice than never
        _tell(registry)
        return
    if lock is not None:
        try:
            _tell(registry)
        finally:
            lock.release()


def _tell(registry: Registry) -> None:
    runs = registry.unannounced()
    short = short_run_ids(run.run_dir for run in runs)
    for run in runs:
        echo(announcement(run, short[run.run_dir]), err=True)
        mark_announced(run.run_dir)


def count_as_told(state: RunState, run_dir: Path) -> None:
    """Whoever asked for a run and was answered that it is over needs no notice of it."""
    if state.background and state.owner == OWNER and state.status.is_terminal:
        mark_announced(run_dir)
