"""A run as it happens, seen from any other process: its journal is read as it grows, until the run is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pi_subagents.models.event import AnyEvent, Ended
from pi_subagents.models.run import Reason
from pi_subagents.store import JOURNAL_FILE, JournalTail, is_held, load_run

POLL_S = 0.25


def follow_run(run_dir: Path, pause: Callable[[float], None] = time.sleep) -> Iterator[AnyEvent]:
    """Every event of a run from its beginning on, the last one being its end; raises StoreError.

    A run that loses its holder meanwhile is closed, and its end told like any other.
    """
    tail = JournalTail(run_dir / JOURNAL_FILE)
    while True:
        # Asked before reading: whoever lets go of a run has written its end.
        held = is_held(run_dir)
        for event in tail.read():
            yield event
            if isinstance(event, Ended):
                return
        if not tail.at_end:
            continue
        if not held:
            yield from _end_of_unheld(run_dir, tail)
            return
        pause(POLL_S)


def _end_of_unheld(run_dir: Path, tail: JournalTail) -> Iterator[AnyEvent]:
    state = load_run(run_dir)
    rest = tail.read()
    yield from rest
    if not any(isinstance(event, Ended) for event in rest):  # a disk that cannot be written: told, not recorded
        at, reason = state.completed_at or state.last_event_at, state.reason or Reason.LOST
        yield Ended(at=at, status=state.status, reason=reason, message=state.error)
