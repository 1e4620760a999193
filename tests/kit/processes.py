"""Other processes, as the kernel shows them: who is there, what they were started with, what they have open."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

from tests.kit.waiting import PATIENCE_S


def all_pids() -> list[int]:
    """Everybody on the machine."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def pids_with(mark: str) -> list[int]:
    """Everybody but us with a mark in their environment, which is inherited whatever a process becomes."""
    return [pid for pid in all_pids() if pid != os.getpid() and mark.encode() in environ_of(pid)]


def environ_of(pid: int) -> bytes:
    """The variables of a process; for a moment it has none, nor arguments, while it becomes another program."""
    with suppress(OSError):
        for _ in range(100):
            if (environ := read(pid, "environ")) or command_line(pid):
                return environ
            Path(f"/proc/{pid}/exe").readlink()  # raises for what has ended, and for what is the kernel's own
            time.sleep(0.001)
    return b""


def command_line(pid: int) -> bytes:
    """The words that a process was started with; none if it is gone."""
    return read(pid, "cmdline")


def working_in(folder: Path) -> dict[int, list[str]]:
    """Everybody whose working directory is in a folder, with the words that they were started with."""
    found = {}
    for pid in all_pids():
        with suppress(OSError):  # it ended meanwhile, or it is somebody else's
            if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder):
                found[pid] = command_line(pid).decode("utf-8", "replace").split("\0")
    return found


def open_files(pid: int) -> set[str]:
    """Where the descriptors of a process lead."""
    found = set()
    with suppress(OSError):  # it has ended
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # it has closed this one at this moment, and has the others still
                found.add(os.readlink(link))  # noqa: PTH115 - what it says, not where it leads
    return found


def state_of(pid: int) -> str:
    """The kernel's letter for what a process does, Z for one that only waits to be collected; empty if it is gone."""
    return _status_fields(pid)[0]


def is_alive(pid: int) -> bool:
    """Whether it is there and not dead: a process may be there long after its end, until somebody collects it."""
    return state_of(pid) not in ("", "Z", "X")


def parent_of(pid: int) -> int:
    """Who has started a process; 0 if it is gone."""
    return int(_status_fields(pid)[1])


def _status_fields(pid: int) -> list[str]:
    return read(pid, "stat").decode(errors="replace").rpartition(")")[2].split() or ["", "0"]


def read(pid: int, what: str) -> bytes:
    """A file that the kernel keeps about a process; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def kill(*pids: int) -> None:
    """Kill processes and wait until the kernel has taken everything from them, their locks included."""
    for pid in pids:
        with suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                ended, _, _ = select.select([pidfd], [], [], PATIENCE_S)
                assert ended, "it did not die"
            finally:
                os.close(pidfd)
