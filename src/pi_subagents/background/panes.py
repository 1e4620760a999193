"""Foreground runs in tmux panes: the keeper works in the pane and shows its window there; here its journal is followed.

A tmux server passes no descriptors on, so the program in the pane connects back to a socket and gets lease and order
there. The connection stays: should whoever asked for the run die, the pane notices and stops it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pi_subagents.background.keeper import Order, sealed
from pi_subagents.delegation.preparation import PreparedRun, in_thread
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.models.event import Created
from pi_subagents.models.run import Reason
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.runners import SpawnFailed
from pi_subagents.runners.detached import TmuxPanes
from pi_subagents.runs.live import watch_run
from pi_subagents.store import is_held, request_stop
from pi_subagents.store.slots import new_address
from pi_subagents.supervisor import Observer, Supervisor

_PROGRAM = ("pi_subagents", "pane")
_CONNECT_S = 30.0
"""How long a program may take to start in its pane."""
_LOOK_S = 0.5
_LET_GO_S = 10.0
"""How long a keeper may take from the end of a run to its own."""

_log = logging.getLogger(__name__)


class PaneRun:
    """One run. Until it is handed over it is held here, by a supervisor that starts nothing."""

    def __init__(
        self, run: PreparedRun, order: Order, waiting: Supervisor, panes: TmuxPanes, observer: Observer
    ) -> None:
        self.state = waiting.state
        self._run = run
        self._order = order
        self._waiting = waiting
        self._panes = panes
        self._observer = observer
        self._handed_over = False

    def stop(self, reason: Reason = Reason.CANCELLED, message: str = CANCELLED_SENTENCE) -> None:
        """Ask the run to end; returns at once."""
        if not self._handed_over:
            self._waiting.stop(reason, message)
        elif not self.state.status.is_terminal:
            try:
                request_stop(self._run.record.path, message)
            except StoreError as error:
                _log.error("%s", error)

    can_steer = False
    """Others speak to the keeper in the pane."""

    def steer(self, _text: str) -> str | None:
        """The keeper in the pane takes what its agent is to be told."""
        return "the run is held elsewhere"

    def detach(self, _owner: str) -> None:
        """A run in a pane ends with whoever asked for it."""

    def heed_request(self) -> None:
        """Stop if another process has asked for it; in its pane, the keeper looks by itself."""
        if not self._handed_over:
            self._waiting.heed_request()

    async def run(self) -> RunState:
        """Have the run seen through in a pane; returns the final state."""
        if self._run.plan.problem or self.state.status.is_terminal:
            return await self._waiting.run()
        self._handed_over = True  # from here on a stop is asked for in writing, whoever will read it
        try:
            connection = await in_thread(self._hand_over)
        except (SpawnFailed, OSError) as failure:
            return await self._give_up(str(failure))
        with connection:
            await self._follow()
        return self.state

    async def _give_up(self, why: str) -> RunState:
        self._handed_over = False
        self._waiting.heed_request()
        self._waiting.stop(Reason.SPAWN, why)
        return await self._waiting.run()

    async def _follow(self) -> None:
        async for events in watch_run(self._run.record.path):
            if news := [event for event in events if not isinstance(event, Created)]:
                fold(self.state, news)
                self._observer(self.state, news)
        await asyncio.to_thread(self._wait_for_keeper)

    def _wait_for_keeper(self) -> None:
        deadline = time.monotonic() + _LET_GO_S
        while is_held(self._run.record.path) and time.monotonic() < deadline:
            time.sleep(_LOOK_S / 10)

    def _hand_over(self) -> socket.socket:
        """Open a pane and give it the run; raises SpawnFailed and OSError, and then the run is still ours."""
        with _listening() as (listener, address):
            pane = self._panes.open([sys.executable, "-P", "-m", *_PROGRAM, address])
            connection = self._accept(listener, pane)
        try:
            with sealed(self._order) as order:
                socket.send_fds(connection, [b"."], [self._run.record.lease_fd, order])
        except OSError:
            connection.close()
            raise
        self._run.record.leave()
        return connection

    def _accept(self, listener: socket.socket, pane: str) -> socket.socket:
        deadline = time.monotonic() + _CONNECT_S
        while time.monotonic() < deadline and self._panes.is_open(pane):
            with suppress(TimeoutError):
                return listener.accept()[0]
        self._panes.close(pane)
        raise SpawnFailed("the program in the tmux pane did not start")


@contextmanager
def _listening() -> Iterator[tuple[socket.socket, str]]:
    path = new_address("pane")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        try:
            path.chmod(0o600)
            listener.listen(1)
            listener.settimeout(_LOOK_S)
            yield listener, str(path)
        finally:
            path.unlink(missing_ok=True)
