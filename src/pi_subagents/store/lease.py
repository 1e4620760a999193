"""Who holds a run, told by the kernel.

The holder keeps an exclusive `flock` on the run's lease file; the kernel frees it when the holder dies, however it
dies. Nobody has to guess from process ids, which are reused.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from pathlib import Path

LEASE_FILE = "lease"
SESSION_LOCKS = ".sessions"

_held: weakref.WeakSet[Lease] = weakref.WeakSet()


class Lease:
    """An exclusive lock on a run that ends with `release` or with this process."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        _held.add(self)

    @classmethod
    def take(cls, run_dir: Path, *, wait: bool = False) -> Lease | None:
        """Lock the run in `run_dir`, or return None if somebody else holds it and we do not `wait`.

        Waiting is for a run whose holder is dead: whoever has the lease then is busy closing it.
        """
        return cls._lock(run_dir / LEASE_FILE, wait)

    @classmethod
    def of_session(cls, runs_dir: Path, session_id: str) -> Lease | None:
        """Lock a session while it is decided who may resume it; None if somebody else is at it."""
        folder = runs_dir / SESSION_LOCKS
        folder.mkdir(mode=0o700, exist_ok=True)
        return cls._lock(folder / session_id, wait=False)

    @classmethod
    def of_file(cls, path: Path, *, wait: bool = False) -> Lease | None:
        """Lock a file of any other meaning; None if somebody else has it and we do not `wait`."""
        return cls._lock(path, wait)

    @classmethod
    def _lock(cls, path: Path, wait: bool) -> Lease | None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(fd)
            return None
        return cls(fd)

    def fileno(self) -> int:
        """The open descriptor, to hand the lease to another process."""
        return self._fd

    def release(self) -> None:
        """Give the run up; harmless when called twice."""
        if self._fd >= 0:
            # Closing alone would leave the lock to a child that was forked a moment ago and has not executed yet.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self.leave()

    def leave(self) -> None:
        """Close our end without freeing the lock: another process has it now."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_held(run_dir: Path) -> bool:
    """Whether somebody alive holds the run in `run_dir`.

    The probe takes a shared lock: with exclusive probes two readers would each take the other for a holder.
    """
    try:
        fd = os.open(run_dir / LEASE_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _forget_in_child() -> None:
    # A child forked without exec shares the lock and would keep it after the holder's death.
    for lease in list(_held):
        lease.leave()


os.register_at_fork(after_in_child=_forget_in_child)
