"""Tells whoever listens to a call what its runs do: in words at once, and how it stands no oftener than people read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.models.event import Event
from pi_subagents.progress import ProgressWords
from pi_subagents.text import clean
from pi_subagents.tools.contract import OnProgress, Said, Update

UPDATE_INTERVAL_S = 0.05
"""Output can come in thousands of events a second; nobody reads faster than this."""
_LINE_CELLS = 200


class Updates:
    """Gathers changes for a moment and then tells them all at once; without a listener it does nothing."""

    def __init__(self, on_progress: OnProgress | None, update: Callable[[], Update]) -> None:
        self._on_progress = on_progress
        self._update = update
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Something is new."""
        if self._on_progress is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_INTERVAL_S, self._tell)

    async def see_through(self, work: Awaitable[Any], *, answer_when_cancelled: bool) -> bool:
        """Wait for the end of a call's work; whether it was cancelled, for a caller who wants an answer even then."""
        try:
            await work
        except asyncio.CancelledError:
            if not answer_when_cancelled:
                raise
            return True
        finally:
            self._close()
        return False

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        self._timer = None
        if self._on_progress is not None:
            self._on_progress(self._update())


class Spoken:
    """The latest line of every run; each new one is told, with its run's name if there are several."""

    def __init__(self, on_progress: OnProgress | None, run_count: Callable[[], int]) -> None:
        self._on_progress = on_progress
        self._run_count = run_count
        self._words: dict[str, ProgressWords] = {}
        self._lines: dict[str, str] = {}
        self._ended: set[str] = set()

    def observe(self, state: RunState, events: Sequence[Event]) -> bool:
        """Whether there is something new to say."""
        words = self._words.setdefault(state.run_id, ProgressWords(width=_LINE_CELLS, cwd=state.cwd))
        lines = [line for event in events if (line := words.say(event))]
        if state.status.is_terminal:
            self._ended.add(state.run_id)
        if not lines:
            return False
        self._lines[state.run_id] = lines[-1]
        if self._on_progress is not None:
            self._on_progress(Said(self._announced(state)))
        return True

    def line(self, state: RunState) -> str:
        """What there is to say of a run at the moment."""
        return self._lines.get(state.run_id) or ("Waiting" if state.status is Status.QUEUED else "Starting")

    def _announced(self, state: RunState) -> str:
        line, count = self.line(state), self._run_count()
        return line if count == 1 else f"[{len(self._ended)}/{count} done] {clean(state.name)}: {line}"
