"""How progress is shown: windows on a terminal that can draw them, else one line per event."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import click

from pi_subagents.fold import RunState
from pi_subagents.models.event import Event
from pi_subagents.progress import ProgressWords
from pi_subagents.service import Delegation

_LINE_CELLS = 200


class View(Protocol):
    """Told of everything that happens; `showing` surrounds the work."""

    def observe(self, state: RunState, events: Sequence[Event]) -> None: ...

    def showing(self, delegation: Delegation) -> AbstractAsyncContextManager[None]: ...


def choose_view(*, plain: bool) -> View:
    """Windows if stderr is a terminal that understands escapes and nobody asked for plain lines."""
    dumb = os.environ.get("TERM", "dumb") == "dumb" or "NO_COLOR" in os.environ
    if plain or dumb or not sys.stderr.isatty():
        return PlainView()
    from pi_subagents.surfaces.live import LiveView

    return LiveView()


class PlainView:
    """`name: words`, appended as things happen; no escapes, nothing redrawn."""

    def __init__(self) -> None:
        self._words: dict[str, ProgressWords] = {}

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Print what is worth saying."""
        words = self._words.setdefault(state.run_id, ProgressWords(width=_LINE_CELLS, cwd=state.cwd))
        for event in events:
            if line := words.say(event):
                click.echo(f"{state.name}: {line}", err=True)

    @asynccontextmanager
    async def showing(self, delegation: Delegation) -> AsyncIterator[None]:
        """Nothing to set up."""
        yield
