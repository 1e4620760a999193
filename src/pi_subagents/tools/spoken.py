"""What happens in the runs of a call, in words: for hosts that show one line at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.models.event import Event
from pi_subagents.progress import ProgressWords
from pi_subagents.text import clean
from pi_subagents.tools.contract import OnProgress

_LINE_CELLS = 200


class Spoken:
    """The latest line of every run; each new one goes to `on_progress`, with its run's name if there are several."""

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
            self._on_progress(self._announced(state))
        return True

    def line(self, state: RunState) -> str:
        """What there is to say of a run at the moment."""
        return self._lines.get(state.run_id) or ("Waiting" if state.status is Status.QUEUED else "Starting")

    def _announced(self, state: RunState) -> str:
        line, count = self.line(state), self._run_count()
        return line if count == 1 else f"[{len(self._ended)}/{count} done] {clean(state.name)}: {line}"
