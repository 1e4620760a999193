"""What all programs on this machine share: how many agents may be at work at once, how busy providers are, sockets.

A slot is a file that is locked by whoever works. The kernel frees the lock when its holder dies, so none is ever lost.
"""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from heapq import nsmallest
from pathlib import Path

from pi_subagents.files import Directory, read_bounded
from pi_subagents.paths import runtime_dir
from pi_subagents.store.lease import Lease

_MAX_HOLD_MS = 10 * 60 * 1000
"""Nobody is believed who asks for more."""


class Pace:
    """One small file for each provider; losing it costs nothing but politeness."""

    def __init__(self, agent_dir: Path) -> None:
        self._folder = agent_dir / "subagents" / "pace"

    def slow_down(self, provider: str, until: int, now: int) -> None:
        """Nobody shall start with this provider before `until` (ms)."""
        until = min(until, now + _MAX_HOLD_MS)
        if until <= self.resumes_at(provider, now):
            return
        path = self._path(provider)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            draft.write_text(str(until))
            draft.replace(path)

    def resumes_at(self, provider: str, now: int) -> int:
        """From when on this provider may be asked again (ms); 0 if at any time."""
        with suppress(OSError, ValueError):
            until = int(self._path(provider).read_text())
            return until if now < until <= now + _MAX_HOLD_MS else 0
        return 0

    def _path(self, provider: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9._-]", "_", provider)[:100]


_LAUNCH_S = 3.0
"""Nobody has the launch lock for longer than it takes to start a process, unless it was stopped."""
_POLL_S = 0.005


def wait_for_file(path: Path, wait_s: float) -> Lease | None:
    """Lock a file; None if somebody else has it for longer than that."""
    deadline = time.monotonic() + wait_s
    while (lease := Lease.of_file(path)) is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return lease


class Slots:
    """A number of slots in a directory."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self._folder = folder
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def take(self) -> Lease | None:
        """A free one, or None."""
        for number in range(self.limit):
            if (lease := Lease.of_file(self._folder / str(number))) is not None:
                return lease
        return None


class BackgroundSlots(Slots):
    """The slots of background runs, the lock that has launchers go one at a time, and where the queue is reached."""

    # An older version may be running beside this one: these names do not change.
    _LOCK_FILE = "gate"
    _ADDRESS_FILE = "door"

    def __init__(self, agent_dir: Path, limit: int) -> None:
        super().__init__(agent_dir / "subagents" / "slots", limit)
        self.agent_dir = agent_dir

    def launch_lock(self) -> Lease | None:
        """Wait for the lock; None if its holder does not let go, because it was stopped."""
        return wait_for_file(self._folder / self._LOCK_FILE, _LAUNCH_S)

    def try_launch_lock(self) -> Lease | None:
        """The lock, if nobody has it."""
        return Lease.of_file(self._folder / self._LOCK_FILE)

    @property
    def queue_address(self) -> Path | None:
        """Where the queue is reached, if there is one.

        A socket's path must be short, so it is elsewhere, and where may differ between launchers: a file here tells.
        """
        with suppress(OSError):
            address = Path(os.fsdecode(read_bounded(self._folder / self._ADDRESS_FILE)))
            if address.suffix == _SUFFIX:  # what a full disk left of one leads nowhere
                return address
        return None

    def new_queue_address(self) -> Path:
        """An address for a new queue, so that one that is thought to be dead and is not keeps out of its way."""
        if (old := self.queue_address) is not None:
            old.unlink(missing_ok=True)
        path = new_address("queue")
        with Directory.at(self._folder) as folder:
            folder.replace(self._ADDRESS_FILE, os.fsencode(path))
        return path

    def remove_queue_address(self, path: Path) -> None:
        """Take away the address of a queue that ends."""
        path.unlink(missing_ok=True)
        if self.queue_address == path:
            (self._folder / self._ADDRESS_FILE).unlink(missing_ok=True)


# --- where programs are reached ---------------------------------------------------------------------------------


_SUFFIX = ".sock"
_MIN_AGE_S = 60.0
"""Younger ones may not listen yet, and some take whoever connects for the one guest they wait for."""
_MAX_PROBED = 32


def new_address(name: str) -> Path:
    """Where a new socket may listen; the oldest dead ones beside it are removed on the way. Raises OSError."""
    folder = runtime_dir()
    addresses = (path for path in folder.iterdir() if path.suffix == _SUFFIX)
    for address in nsmallest(_MAX_PROBED, addresses, key=_made_at):
        if time.time() - _made_at(address) > _MIN_AGE_S:
            remove_if_dead(address)
    return folder / f"{name}-{os.urandom(8).hex()}{_SUFFIX}"


def remove_if_dead(address: Path) -> bool:
    """Remove a socket of ours that nobody listens at; whether it was one."""
    with suppress(OSError):
        if address.parent == runtime_dir() and address.suffix == _SUFFIX and _is_dead(address):
            address.unlink(missing_ok=True)
            return True
    return False


def _is_dead(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(address))
        except ConnectionRefusedError:
            return address.is_socket()
        except OSError:  # it is busy, or gone by now
            return False
    return False


def _made_at(address: Path) -> float:
    with suppress(OSError):
        return address.lstat().st_mtime
    return time.time()
