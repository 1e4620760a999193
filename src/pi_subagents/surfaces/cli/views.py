"""How progress is shown: windows on a terminal that can draw them, else one line per event.

With `d` in the windows of `run` the terminal is given back, and the agents go on as background runs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from pi_subagents.fold import RunState
from pi_subagents.models import Status, short_id
from pi_subagents.models.event import Ended, Event, Started
from pi_subagents.place import Place
from pi_subagents.progress import ProgressWords, Window, name_of, status_line
from pi_subagents.runs.run import Run
from pi_subagents.settings import RunnerName
from pi_subagents.surfaces.cli.output import echo, obeys_escapes
from pi_subagents.text import clip, counted

if TYPE_CHECKING:
    from pi_subagents.delegation.delegation import Delegation
    from pi_subagents.processes.foreground import Worker
    from pi_subagents.surfaces.live import OneRun

_LINE_CELLS = 200
_NAME_CELLS = 40
"""Of a name: enough to tell tasks apart."""
_MAX_NAMED = 4


class View(Protocol):
    """Told of everything that happens; `showing` surrounds the work."""

    def observe(self, state: RunState, events: Sequence[Event]) -> None: ...

    def showing(self, shown: Delegation | OneRun) -> AbstractAsyncContextManager[None]: ...


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
    return not plain and obeys_escapes() and sys.stderr.isatty()


class NoView:
    """For whoever wants the answers and nothing else."""

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Say nothing."""

    def showing(self, shown: Delegation | OneRun) -> AbstractAsyncContextManager[None]:
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
            line = _started(state) if isinstance(event, Started) else words.say(event)
            if line:
                echo(f"{clip(name_of(window), _NAME_CELLS)}: {line}", err=True)
            if isinstance(event, Ended):
                self._say_standing()

    @asynccontextmanager
    async def showing(self, shown: Delegation | OneRun) -> AsyncIterator[None]:
        """Nothing to set up."""
        self._total = shown.task_count
        yield

    def _say_standing(self) -> None:
        """How all of it stands, whenever one of several has ended."""
        if self._total > 1:
            windows = [window for window, _ in self._windows.values()]
            waiting = self._total - len(windows)
            echo(status_line(windows) + (f", {waiting} waiting" if waiting else ""), err=True)


def _started(state: RunState) -> str:
    return "Started" if state.beginning == "fresh" else f"Started, {state.beginning}"


class Detaching:
    """Whether somebody wants to leave the agents to themselves, and how that is done."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.delegation: Delegation | None = None
        self.wanted = asyncio.Event()
        self.is_done = False

    def ask(self) -> None:
        """Somebody wants it; whatever becomes of the terminal from here on is not ours. Nothing, if all have ended."""
        runs = self.delegation.runs if self.delegation else []
        if not self.wanted.is_set() and any(run.goes_on for run in runs):
            self._worker.leave_terminal()
            self.wanted.set()

    def leave(self, delegation: Delegation) -> None:
        """Make this process the keeper of what has not ended, say so, and let the shell go on."""
        from pi_subagents.runs.background import TERMINAL  # few runs are left like this

        runs = delegation.detach(TERMINAL)
        if not runs:  # the last has ended since somebody asked; its answer is printed as ever
            return
        self.is_done = True
        _say_detached(runs, ended=len(delegation.runs) - len(runs))
        self._worker.dismiss_parent()


def begin_detachable(place: Place, *, plain: bool, runner: RunnerName | None) -> Detaching | None:
    """Go on in a process that can leave the terminal; None where nobody could ask for it: without windows or keys.

    An agent in a tmux pane has a keeper there, and ends with the pane.
    """
    is_elsewhere = (runner or place.settings().runner) != "local"
    if is_elsewhere or not shows_windows(plain=plain) or not sys.stdin.isatty():
        return None
    from pi_subagents.processes.foreground import fork_worker

    return Detaching(fork_worker())


async def see_through(delegation: Delegation, view: View, detaching: Detaching | None) -> None:
    """Show the work until it is done, or until somebody detaches; then see it through unseen."""
    if detaching is not None:
        detaching.delegation = delegation
    work = asyncio.create_task(_see_through(delegation))
    async with view.showing(delegation):
        await _done_or_left(work, detaching)
    if not work.done() and detaching is not None:
        detaching.leave(delegation)
    await work


async def _see_through(delegation: Delegation) -> None:
    await delegation


async def _done_or_left(work: asyncio.Task[None], detaching: Detaching | None) -> None:
    wanted = asyncio.create_task((detaching.wanted if detaching else asyncio.Event()).wait())
    try:
        await asyncio.wait([work, wanted], return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        work.cancel()  # which stops the agents; until they have ended, the windows show it
        await asyncio.wait([work])
        raise
    finally:
        wanted.cancel()


def _say_detached(runs: Sequence[Run], *, ended: int) -> None:
    named = ", ".join(map(_named, runs[:_MAX_NAMED]))
    more = f" and {len(runs) - _MAX_NAMED} more" if len(runs) > _MAX_NAMED else ""
    go_on = "continues" if len(runs) == 1 else "continue"
    echo(f"Detached: {named}{more} {go_on} in the background.", err=True)
    attach = f"background attach {short_id(runs[0].state.session_id)}"
    echo(f"hint: check on them with 'pi-subagents background list', '{attach}' or 'background wait'", err=True)
    if ended:
        echo(f"hint: {counted(ended, 'task')} already ended; see 'pi-subagents sessions list'", err=True)


def _named(run: Run) -> str:
    waits = ", waiting" if run.state.status is Status.QUEUED else ""
    return f"{short_id(run.state.session_id)} ({clip(run.state.name, _NAME_CELLS)}{waits})"
