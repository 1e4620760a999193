"""`d` in the live view of `run`: the terminal is given back, and the agents go on as background runs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models import Status, short_id
from pi_subagents.place import Place
from pi_subagents.processes.foreground import Worker, fork_worker
from pi_subagents.runs.run import Run
from pi_subagents.settings import RunnerName
from pi_subagents.surfaces.cli.notices import OWNER
from pi_subagents.surfaces.cli.output import echo
from pi_subagents.surfaces.cli.views import View, shows_windows
from pi_subagents.text import clip, counted

_NAME_CELLS = 40
_MAX_NAMED = 4


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
        runs = delegation.detach(OWNER)
        if not runs:  # the last has ended since somebody asked; its answer is printed as ever
            return
        self.is_done = True
        _say(runs, ended=len(delegation.runs) - len(runs))
        self._worker.dismiss_parent()


def begin_detachable(place: Place, *, plain: bool, runner: RunnerName | None) -> Detaching | None:
    """Go on in a process that can leave the terminal; None where nobody could ask for it: without windows or keys.

    An agent in a tmux pane has a keeper there, and ends with the pane.
    """
    is_elsewhere = (runner or place.settings().runner) != "local"
    if is_elsewhere or not shows_windows(plain=plain) or not sys.stdin.isatty():
        return None
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


def _say(runs: Sequence[Run], *, ended: int) -> None:
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
