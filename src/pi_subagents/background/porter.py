"""The porter: while more background runs are wanted than may work at once, it holds those that wait, in order.

One process for all of them, whoever launched them; it exists only while somebody waits. It holds the lease of every
waiting run, so that they count as alive, and starts a keeper for the next whenever a place becomes free.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pi_subagents.background.starting import start_keeper
from pi_subagents.store.control import is_to_stop
from pi_subagents.store.slots import Slots

_POLL_S = 0.1
_MAX_PATH_BYTES = 4096
_MAX_DESCRIPTORS = 16384
"""Every run that waits costs two; what is usual by default would be used up by five hundred of them."""


@dataclass(frozen=True)
class Waiting:
    """A run that waits: its directory, its lease and its order."""

    run_dir: Path
    lease: int
    order: int


class Porter:
    """The queue. `limit` places are shared by all runs of one agent directory."""

    def __init__(self, door: socket.socket, slots: Slots) -> None:
        self._door = door
        self._slots = slots
        self._queue: deque[Waiting] = deque()
        self._is_closed = False

    def work(self) -> None:
        """Serve until nobody waits any more."""
        while True:
            self._let_in(_POLL_S)
            self._send_off_the_stopped()
            self._fill_places()
            if not self._queue and (self._is_closed or self._close_if_nobody_knocks()):
                return

    def _fill_places(self) -> None:
        while self._queue and (slot := self._slots.take()) is not None:
            try:
                self._send_off(self._queue[0], slot.fileno())
            except OSError:
                return  # no process can be started at the moment; nobody loses their turn
            finally:
                slot.leave()
            self._queue.popleft()

    def _let_in(self, timeout_s: float) -> None:
        if self._is_closed:
            time.sleep(timeout_s)
            return
        while select.select([self._door], [], [], timeout_s)[0]:
            timeout_s = 0
            guest, _ = self._door.accept()
            with guest:
                self._welcome(guest)

    def _welcome(self, guest: socket.socket) -> None:
        guest.settimeout(1.0)
        try:
            name, fds, _flags, _address = socket.recv_fds(guest, _MAX_PATH_BYTES, 2)
            if len(fds) == 2:
                self._queue.append(Waiting(Path(os.fsdecode(name)), *fds))
                return
            for fd in fds:
                os.close(fd)
        except OSError:
            return  # whoever it was has gone; its descriptors with it

    def _send_off_the_stopped(self) -> None:
        # A run that is not wanted any more needs no place to say so.
        for waiting in [each for each in self._queue if is_to_stop(each.run_dir, each.lease)]:
            with suppress(OSError):
                self._send_off(waiting, -1)
                self._queue.remove(waiting)

    def _send_off(self, waiting: Waiting, slot: int) -> None:
        start_keeper(waiting.lease, waiting.order, slot)
        os.close(waiting.lease)
        os.close(waiting.order)

    def _close_if_nobody_knocks(self) -> bool:
        gate = self._slots.try_gate()
        if gate is None:
            return False
        try:
            self._let_in(0)
            if self._queue:
                return False
            self._close_door()
            return not self._queue
        finally:
            gate.release()

    def _close_door(self) -> None:
        """From here on nobody is let in; who came at the last moment, past the gate, is served all the same."""
        self._is_closed = True
        self._door.shutdown(socket.SHUT_RD)
        self._slots.close_door(Path(self._door.getsockname()))
        self._door.setblocking(False)
        with suppress(OSError):  # nobody is left at the door
            while True:
                with self._door.accept()[0] as guest:
                    self._welcome(guest)


def _allow_many_descriptors() -> None:
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def main() -> None:
    """Be the porter of an agent directory, at a door that is open already."""
    _allow_many_descriptors()
    door = socket.socket(fileno=int(sys.argv[1]))
    Porter(door, Slots(Path(sys.argv[2]), int(sys.argv[3]))).work()


if __name__ == "__main__":
    main()
