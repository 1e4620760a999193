"""How progress is shown: windows on a terminal that can draw them, else one line per event."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from pi_subagents.fold import RunState
from pi_subagents.models.event import Ended, Event, Started
from pi_subagents.progress import ProgressWords, Window, name_of, status_line
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.text import clip

if TYPE_CHECKING:
    from pi_subagents.surfaces.live import Shown

_LINE_CELLS = 200
_NAME_CELLS = 40
"""Of the name before every line: enough to tell tasks apart."""


class View(Protocol):
    """Told of everything that happens; `showing` surrounds the work."""

    def observe(self, state: RunState, events: Sequence[Event]) -> None: ...

    def showing(self, shown: Shown) -> AbstractAsyncContextManager[None]: ...


def choose_view(
    *,
    plain: bool,
    quiet: bool = False,
    leave: Callable[[], None] | None = None,
    detach: Callable[[], None] | None = None,
) -> View:
    """Windows where they can be shown, else plain lines; nothing at all if `quiet`.

    A view of runs that go on without it can be left with a key; `leave` is called then. `detach` is called when
    somebody wants that of runs which are held here.
    """
    if quiet:
        return NoView()
    if not shows_windows(plain=plain):
        return PlainView()
    from pi_subagents.surfaces.live import LiveView

    return LiveView(leave=leave, detach=detach)


def shows_windows(*, plain: bool) -> bool:
    """Whether stderr is a terminal that understands escapes, and nobody asked for plain lines."""
    return not plain and not forbids_escapes(os.environ) and sys.stderr.isatty()


def forbids_escapes(environ: Mapping[str, str]) -> bool:
    """Whether the terminal would print escapes instead of obeying them."""
    return environ.get("TERM", "dumb") in ("", "dumb")


class NoView:
    """For whoever wants the answers and nothing else."""

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Say nothing."""

    def showing(self, shown: Shown) -> AbstractAsyncContextManager[None]:
        """Nothing to set up."""
        return nullcontext()


class PlainView:
    """`name: words`, appended as things happen; no escapes, nothing redrawn."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[Window, ProgressWords]] = {}
        self._total = 0

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Print what is worth saying."""
        if state.run_id not in self._windows:
            self._windows[state.run_id] = Window(state), ProgressWords(width=_LINE_CELLS, cwd=state.cwd)
        window, words = self._windows[state.run_id]
        for event in events:
            line = "Started" if isinstance(event, Started) else words.say(event)
            if line:
                _say(f"{clip(name_of(window), _NAME_CELLS)}: {line}")
            if isinstance(event, Ended):
                self._say_standing()

    @asynccontextmanager
    async def showing(self, shown: Shown) -> AsyncIterator[None]:
        """Nothing to set up."""
        self._total = shown.task_count
        yield

    def _say_standing(self) -> None:
        """How all of it stands, whenever one of several has ended."""
        if self._total > 1:
            windows = [window for window, _ in self._windows.values()]
            waiting = self._total - len(windows)
            _say(status_line(windows) + (f", {waiting} waiting" if waiting else ""))


def _say(line: str) -> None:
    echo(line, err=True)
