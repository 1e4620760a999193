"""What each sub-agent is doing, one line per task: redrawn in place on a terminal, else appended as it happens."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

import click

from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.models.event import Ended, Event
from pi_subagents.progress import ProgressWords, clip

_ICONS = {Status.QUEUED: "·", Status.RUNNING: "⏳", Status.COMPLETED: "✓"}
_NAME_CELLS = 24


class ProgressView(Protocol):
    """Told of everything that happens, between `start` and `stop`."""

    def start(self) -> None: ...

    def observe(self, state: RunState, events: Sequence[Event]) -> None: ...

    def stop(self) -> None: ...


def progress_view(*, plain: bool) -> ProgressView:
    """In place on a terminal that can do it, else a line per event."""
    dumb = os.environ.get("TERM", "dumb") == "dumb" or "NO_COLOR" in os.environ
    return _Lines() if plain or dumb or not sys.stderr.isatty() else _InPlace()


class _Lines:
    """`name: words`, appended."""

    def __init__(self) -> None:
        self._words: dict[str, ProgressWords] = {}

    def start(self) -> None:
        pass

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        words = self._words.setdefault(state.run_id, ProgressWords(width=200, cwd=state.cwd))
        for event in events:
            if line := words.say(event):
                click.echo(f"{state.name}: {line}", err=True)

    def stop(self) -> None:
        pass


class _InPlace:
    """A line per task that says what its agent does now and for how long it has been at work."""

    def __init__(self) -> None:
        self._states: dict[str, RunState] = {}
        self._words: dict[str, ProgressWords] = {}
        self._latest: dict[str, str] = {}
        self._console: Any = None
        self._live: Any = None

    def start(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._live = Live(console=self._console, get_renderable=self._render, refresh_per_second=10)
        self._live.start()

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        self._states[state.run_id] = state
        words = self._words.setdefault(state.run_id, ProgressWords(width=200, cwd=state.cwd))
        for event in events:
            if line := words.say(event):
                self._latest[state.run_id] = line
            if isinstance(event, Ended) and state.status is Status.COMPLETED:
                self._latest[state.run_id] = f"{state.tool_count} tool calls"

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _render(self) -> Any:
        from rich.text import Text

        width = self._console.width
        lines = [clip(self._line(state), width) for state in list(self._states.values())]
        return Text("\n".join(lines), no_wrap=True, overflow="crop")

    def _line(self, state: RunState) -> str:
        icon = _ICONS.get(state.status, "✗")
        name = clip(state.name, _NAME_CELLS).ljust(_NAME_CELLS)
        end = state.completed_at or time.time() * 1000
        seconds = (end - (state.started_at or end)) / 1000
        return f"{icon} {name} {seconds:5.1f}s  {self._latest.get(state.run_id, 'Starting')}"
