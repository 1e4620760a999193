"""Runs that were resumed in this program: they end with it."""

from __future__ import annotations

import asyncio

from pi_subagents.paths import project_of
from pi_subagents.planning import Place
from pi_subagents.service import Delegation
from pi_subagents.sessions import Sessions, resumed_task


class OwnRuns:
    """Delegations at work; each is a task of the event loop, so that the screen stays alive."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._working: set[asyncio.Task[object]] = set()

    @property
    def count(self) -> int:
        """How many have not ended."""
        return len(self._working)

    async def resume(self, session_id: str, prompt: str) -> None:
        """Go on with a session; returns when its record is made. Raises PiSubagentsError."""
        delegation = await asyncio.to_thread(self._prepare, session_id, prompt)
        task: asyncio.Task[object] = asyncio.create_task(_see_through(delegation))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def _prepare(self, session_id: str, prompt: str) -> Delegation:
        latest = Sessions(self._place).find(session_id).latest
        # Profiles and settings are those of the project that the session belongs to.
        place = Place.here(project_of(latest.run_dir), self._place.environ)
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
