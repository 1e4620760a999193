"""Runs one command and outlives it just long enough to take everything it started with it.

Started as a script by its holder, with the read end of a pipe as first argument. Being the sub-reaper of all that
happens below, it finds daemons and orphans again as its own children. Ends the whole tree when the command ends,
when told to, or when the pipe breaks because the holder died. Should it be killed itself, the command dies with it.
Imports little: it starts once for every agent.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_MS = 20


def main() -> int:
    """Guard the command in argv until nothing of it is left; the exit code is the command's own."""
    lifeline = int(sys.argv[1])
    os.set_inheritable(lifeline, False)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    child = _start(sys.argv[2:], libc)
    _let_go_of_standard_streams()
    exit_code = _watch(child, lifeline, wake_read)
    _end_everything()
    return exit_code


def _start(argv: list[str], libc: ctypes.CDLL) -> int:
    """Start the command and wait until it runs: before that it would take no notice of a signal."""
    guard = os.getpid()
    running, failed = os.pipe()
    child = os.fork()
    if child:
        os.close(failed)
        os.read(running, 1)
        os.close(running)
        return child
    os.setsid()
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != guard:
        os._exit(128 + signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _let_go_of_standard_streams() -> None:
    # Holding the agent's pipes would hide that the agent closed them.
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _watch(child: int, lifeline: int, wake: int) -> int:
    poll = select.poll()
    poll.register(lifeline, select.POLLIN | select.POLLHUP)
    poll.register(wake, select.POLLIN)
    while True:
        exit_code = _reap(child)
        if exit_code is not None:
            return exit_code
        for fd, _flags in poll.poll():
            if fd == wake:
                os.read(wake, 4096)
                continue
            command = os.read(lifeline, 1)
            if command == b"T":
                _signal(child, signal.SIGTERM)
            else:
                return 128 + signal.SIGKILL


def _reap(child: int) -> int | None:
    """Collect what has died; the command's exit code once it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            found = code if code >= 0 else 128 - code


def _end_everything() -> None:
    while children := _children():
        for pid in children:
            _kill_tree(pid)
        _reap(-1)
        select.select([], [], [], _POLL_MS / 1000)


def _kill_tree(pid: int) -> None:
    # Stop first: a process that forks faster than it is killed would otherwise stay ahead.
    _signal_one(pid, signal.SIGSTOP)
    for below in _children(pid):
        _kill_tree(below)
    _signal_one(pid, signal.SIGKILL)


def _children(parent: int | None = None) -> list[int]:
    parent = parent or os.getpid()
    found: list[int] = []
    with suppress(OSError):  # it ended while being looked at
        for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - pathlib would double the start-up time
            found += _read_numbers(f"/proc/{parent}/task/{task}/children")
    return found


def _read_numbers(path: str) -> list[int]:
    with open(path) as listing:  # noqa: PTH123
        return [int(number) for number in listing.read().split()]


def _signal(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        _signal_one(pid, number)


def _signal_one(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main())
