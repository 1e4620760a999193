"""Runs that were resumed in this program: they end with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi_subagents.paths import project_of
from pi_subagents.planning import Place
from pi_subagents.service import Delegation
from pi_subagents.sessions import Sessions, resumed_task
from pi_subagents.store import session_of


class OwnRuns:
    """Delegations at work; each is a task of the event loop, so that the screen stays alive."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._working: set[asyncio.Task[object]] = set()

    @property
    def count(self) -> int:
        """How many have not ended."""
        return len(self._working)

    async def resume(self, run_dir: Path, prompt: str) -> None:
        """Go on with the session of a run; returns when its record is made. Raises PiSubagentsError."""
        delegation = await asyncio.to_thread(self._prepare, run_dir, prompt)
        task: asyncio.Task[object] = asyncio.create_task(_see_through(delegation))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def _prepare(self, run_dir: Path, prompt: str) -> Delegation:
        # Profiles and settings are those of the project that the session belongs to; others may have one of its id.
        place = Place.here(project_of(run_dir), self._place.environ)
        latest = Sessions(place).find(session_of(run_dir)).latest
        delegation = Delegation([resumed_task(latest, prompt)], place=place)
        delegation.prepare()
        return delegation

    async def stop(self) -> None:
        """End them all, and wait until nothing is left of any agent."""
        for task in self._working:
            task.cancel()
        if self._working:
            await asyncio.wait(self._working)


async def _see_through(delegation: Delegation) -> None:
    await delegation
