"""A run as it happens, seen from any other process: its journal is read as it grows, until the run is over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path

from pi_subagents.models.event import AnyEvent, Ended
from pi_subagents.models.run import Reason
from pi_subagents.store import JOURNAL_FILE, is_held, load_run
from pi_subagents.store.reading import JournalTail

POLL_S = 0.25
WATCH_S = 0.1
"""Where windows are drawn, a quarter of a second would show."""


class RunFollower:
    """Looks at a run again and again: tells every event from its beginning on once, the last one being its end.

    A run that loses its holder meanwhile is closed, and its end told like any other.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.ended = False
        self._tail = JournalTail(run_dir / JOURNAL_FILE)

    @property
    def at_end(self) -> bool:
        """Whether the last look went to the end of what there was."""
        return self._tail.at_end

    def look(self) -> list[AnyEvent]:
        """The events since the last look, a few megabytes of them at most; raises StoreError."""
        if self.ended:
            return []
        # Asked before reading: whoever lets go of a run has written its end.
        held = is_held(self.run_dir)
        events = list(self._up_to_end(self._tail.read()))
        if self.at_end and not held and not self.ended:
            events += self._up_to_end(self._end_of_unheld())
        return events

    def _up_to_end(self, events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
        for event in events:
            yield event
            if isinstance(event, Ended):
                self.ended = True
                return

    def _end_of_unheld(self) -> Iterator[AnyEvent]:
        state = load_run(self.run_dir)
        rest = self._tail.read()
        yield from rest
        if not any(isinstance(event, Ended) for event in rest):  # a disk that cannot be written: told, not recorded
            at, reason = state.completed_at or state.last_event_at, state.reason or Reason.LOST
            yield Ended(at=at, status=state.status, reason=reason, message=state.error)


async def watch_run(run_dir: Path) -> AsyncIterator[list[AnyEvent]]:
    """The same for a program with an event loop, which goes on meanwhile: all that came since the last time at once."""
    follower = RunFollower(run_dir)
    while not follower.ended:
        if events := await asyncio.to_thread(follower.look):
            yield events
        if follower.at_end and not follower.ended:
            await asyncio.sleep(WATCH_S)


def follow_run(run_dir: Path, pause: Callable[[float], None] = time.sleep) -> Iterator[AnyEvent]:
    """Every event of a run from its beginning on, the last one being its end; raises StoreError."""
    follower = RunFollower(run_dir)
    while True:
        yield from follower.look()
        if follower.ended:
            return
        if follower.at_end:
            pause(POLL_S)
