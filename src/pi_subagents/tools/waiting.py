"""Calls that wait for runs: what people are told of them meanwhile."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.fold import RunState
from pi_subagents.models import Status, Task
from pi_subagents.models.event import Event
from pi_subagents.progress import ProgressWords, Window
from pi_subagents.text import clean
from pi_subagents.tools.contract import Details, RunOver, Spoken, ToolContext, Update

UPDATE_INTERVAL_S = 0.05
"""Output can come in thousands of events a second; nobody reads faster than this."""
_LINE_CELLS = 200


class WaitingCall(ABC):
    """Tells whoever listens what the runs do: in words at once, and how the call stands no oftener than people read."""

    def __init__(self, context: ToolContext, tasks: Sequence[Task], profile: str | None = None) -> None:
        self.delegation = Delegation(
            tasks,
            profile=profile,
            place=context.place,
            observer=self.observe,
            available_tools=context.available_tools,
            agents=context.runner,
            remembered=context.remembered,
        )
        self._context = context
        self._tell = context.on_progress
        self._timer: asyncio.TimerHandle | None = None
        self._words: dict[str, ProgressWords] = {}
        self._lines: dict[str, str] = {}
        self._ended: set[str] = set()
        self._told: set[Path] = set()

    @abstractmethod
    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Something happened in a run."""

    @abstractmethod
    def details(self) -> Details:
        """How the call stands."""

    def windows(self) -> Sequence[Window]:
        """What is shown of it, if it has windows."""
        return ()

    async def see_through(self) -> bool:
        """Wait until all runs are over; whether the call was cancelled, for a caller who wants an answer even then."""
        try:
            await self.delegation
        except asyncio.CancelledError:
            if not self._context.answer_when_cancelled:
                raise
            return True
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._tell_ends()  # what could not be put into words or into a window has ended all the same
        return False

    def changed(self) -> None:
        """Something is new: it is told in a moment, together with what else is new by then."""
        if self._tell is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_INTERVAL_S, self._tell_update)

    def _tell_update(self) -> None:
        self._timer = None
        if self._tell is not None:
            self._tell(Update(self.details, self.windows()))

    def speak(self, state: RunState, events: Sequence[Event]) -> bool:
        """Tell the latest of what these events are in words, and the end of a run; whether there is something new."""
        words = self._words.setdefault(state.run_id, ProgressWords(width=_LINE_CELLS, cwd=state.cwd))
        lines = [line for event in events if (line := words.say(event))]
        if state.status.is_terminal:
            self._ended.add(state.run_id)
        if lines:
            self._lines[state.run_id] = lines[-1]
            if self._tell is not None:
                self._tell(Spoken(self._announced(state)))
        self._tell_ends()
        return bool(lines)

    def _tell_ends(self) -> None:
        for run in self.delegation.runs:
            if self._tell is not None and run.state.status.is_terminal and run.run_dir not in self._told:
                self._told.add(run.run_dir)
                self._tell(RunOver(run.state, run.run_dir))

    def line(self, state: RunState) -> str:
        """What there is to say of a run at the moment."""
        return self._lines.get(state.run_id) or ("Waiting" if state.status is Status.QUEUED else "Starting")

    def _announced(self, state: RunState) -> str:
        """With the run's name if there are several."""
        line, count = self.line(state), len(self.delegation.runs)
        return line if count == 1 else f"[{len(self._ended)}/{count} done] {clean(state.name)}: {line}"
