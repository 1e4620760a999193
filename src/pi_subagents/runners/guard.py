"""Runs one command and outlives it just long enough to take everything it started with it.

Started as a script by its holder, with the read end of a pipe and the agent's mark as first arguments. Being the
sub-reaper of all that happens below, it finds daemons and orphans again as its own children. Ends the whole tree when
the command ends, when told to, or when the pipe breaks because the holder died. Should it be killed itself, the command
dies with it, and the holder finds the rest by the mark (`orphans`). Imports little: it starts once for every agent.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from contextlib import suppress

SET_PDEATHSIG = 1
SET_CHILD_SUBREAPER = 36
_POLL_MS = 20


def main() -> int:
    """Guard the command in argv until nothing of it is left; the exit code is the command's own."""
    lifeline, mark = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(lifeline, False)
    prctl(SET_CHILD_SUBREAPER, 1)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    child = _start(sys.argv[3:], mark)
    let_go_of_standard_streams()  # holding the agent's pipes would hide that the agent closed them
    exit_code = _watch(child, lifeline, wake_read)
    _end_everything()
    return exit_code


def _start(argv: list[str], mark: int) -> int:
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
    prctl(SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != guard:
        os._exit(128 + signal.SIGKILL)
    if mark:
        resource.setrlimit(resource.RLIMIT_RTTIME, (mark, mark))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


def let_go_of_standard_streams() -> None:
    """Nothing can be read or printed any more, and nobody else's pipe is held open."""
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
    while children := children_of(os.getpid()):
        for pid in children:
            end_tree(pid)
        _reap(-1)
        select.select([], [], [], _POLL_MS / 1000)


def end_tree(child: int) -> None:
    """Kill a child of ours with its group and everything below it, as far as it can be seen at this moment."""
    family = [child]
    # Stop first: a process that forks faster than it is killed would otherwise stay ahead.
    for pid in family:
        _signal_one(pid, signal.SIGSTOP)
        family += children_of(pid)
    # At once, unlike a list, and so a whole chain of processes of which each lives only to start the next.
    with suppress(ProcessLookupError, PermissionError):
        if os.getsid(child) != os.getsid(0):
            os.killpg(os.getpgid(child), signal.SIGKILL)
    for pid in family:
        _signal_one(pid, signal.SIGKILL)


def children_of(parent: int) -> list[int]:
    """Those who are children of a process at this moment, whichever of its threads has them."""
    found: list[int] = []
    with suppress(OSError):  # it ended while being looked at
        for task in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - pathlib would double the start-up time
            with open(f"/proc/{parent}/task/{task}/children") as listing:  # noqa: PTH123
                found += map(int, listing.read().split())
    return found


def prctl(option: int, value: object) -> None:
    """Change how the kernel treats this process."""
    import ctypes  # nobody who only imports this module needs it

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


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
