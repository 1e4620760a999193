"""The queue: while more background runs are wanted than may work at once, it holds those that wait, in order.

One process for all of them, whoever launched them; it exists only while some wait. It holds the lease of every waiting
run, so that they count as alive, and starts a keeper for the next whenever a slot becomes free.
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
from pathlib import Path

import msgspec

from pi_subagents.runners.detached import start_detached
from pi_subagents.store.record import is_to_stop
from pi_subagents.store.slots import BackgroundSlots

_POLL_S = 0.1
_HANDOVER_S = 2.0
_MAX_PENDING = 1024
"""How many runs may come before a queue that is still starting takes the first."""
_MAX_PATH_BYTES = 4096
_MAX_DESCRIPTORS = 16384
"""Every run that waits costs two; the usual limit would be used up by five hundred of them."""


def start_keeper(lease: int, order: int, slot: int) -> None:
    """Start a keeper that inherits a run's lease, its order, and its slot (-1 for none); it outlives us."""
    start_detached("pi_subagents.background.keeper", [str(lease), str(order), str(slot)], (lease, order, slot))


def open_queue(slots: BackgroundSlots) -> None:
    """Start a queue; it listens before it is there, so that nobody has to wait until it has started."""
    path = slots.new_queue_address()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(_MAX_PENDING)
        arguments = [str(listener.fileno()), str(slots.agent_dir), str(slots.limit)]
        start_detached("pi_subagents.background.queue", arguments, (listener.fileno(),))


def give_to_queue(run_dir: Path, lease: int, order: int, slots: BackgroundSlots) -> bool:
    """Have a run wait in the queue, if there is one.

    Sent is handed over: the descriptors are on their way in the kernel, and should the queue die before it takes
    them, the kernel frees the lease and the run counts as lost. Waiting for an answer could only lead to two keepers.
    """
    if (address := slots.queue_address) is None:
        return False
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_HANDOVER_S)
            connection.connect(str(address))
            socket.send_fds(connection, [os.fsencode(run_dir)], [lease, order])
    except ConnectionRefusedError:  # it was killed
        slots.remove_queue_address(address)
        return False
    except OSError:
        return False
    return True


class WaitingRun(msgspec.Struct, frozen=True):
    """A run that waits: its directory, its lease and its order."""

    run_dir: Path
    lease: int
    order: int


class Queue:
    """All runs of one agent directory that wait for a slot."""

    def __init__(self, listener: socket.socket, slots: BackgroundSlots) -> None:
        self._listener = listener
        self._slots = slots
        self._waiting: deque[WaitingRun] = deque()
        self._is_closed = False

    def serve(self) -> None:
        """Until no run waits any more."""
        while True:
            self._take_new(_POLL_S)
            self._start_stopped()
            self._start_next()
            if not self._waiting and (self._is_closed or self._close_if_empty()):
                return

    def _start_next(self) -> None:
        while self._waiting and (slot := self._slots.take()) is not None:
            try:
                _start(self._waiting[0], slot.fileno())
            except OSError:
                return  # no process can be started at the moment; the order stays as it is
            finally:
                slot.leave()
            self._waiting.popleft()

    def _take_new(self, timeout_s: float) -> None:
        if self._is_closed:
            time.sleep(timeout_s)
            return
        while select.select([self._listener], [], [], timeout_s)[0]:
            timeout_s = 0
            self._take(self._listener.accept()[0])

    def _take(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # whoever it was has gone; its descriptors with it
            connection.settimeout(1.0)
            name, fds, _flags, _address = socket.recv_fds(connection, _MAX_PATH_BYTES, 2)
            if len(fds) == 2:
                self._waiting.append(WaitingRun(Path(os.fsdecode(name)), *fds))
                return
            for fd in fds:
                os.close(fd)

    def _start_stopped(self) -> None:
        # A run that is not wanted any more needs no slot to say so.
        for run in [each for each in self._waiting if is_to_stop(each.run_dir, each.lease)]:
            with suppress(OSError):
                _start(run, -1)
                self._waiting.remove(run)

    def _close_if_empty(self) -> bool:
        lock = self._slots.try_launch_lock()
        if lock is None:
            return False
        try:
            self._take_new(0)
            if self._waiting:
                return False
            self._close()
            return not self._waiting
        finally:
            lock.release()

    def _close(self) -> None:
        """From here on nothing is taken; what came at the last moment, past the lock, is served all the same."""
        self._is_closed = True
        self._listener.shutdown(socket.SHUT_RD)
        self._slots.remove_queue_address(Path(self._listener.getsockname()))
        self._listener.setblocking(False)
        with suppress(OSError):  # nothing is left
            while True:
                self._take(self._listener.accept()[0])


def _start(run: WaitingRun, slot: int) -> None:
    start_keeper(run.lease, run.order, slot)
    os.close(run.lease)
    os.close(run.order)


def _allow_many_descriptors() -> None:
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def main() -> None:
    """Be the queue of an agent directory, on a socket that listens already."""
    _allow_many_descriptors()
    listener = socket.socket(fileno=int(sys.argv[1]))
    Queue(listener, BackgroundSlots(Path(sys.argv[2]), int(sys.argv[3]))).serve()


if __name__ == "__main__":
    main()
