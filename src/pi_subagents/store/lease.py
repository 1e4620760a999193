"""Who holds a run, told by the kernel.

The holder keeps an exclusive `flock` on the run's directory itself, which cannot be taken from under it, and another on
the file `lease` in it, which is all that older versions look at. The kernel frees both when the holder dies, however it
dies. Nobody has to guess from process ids, which are reused. A run is held while any of its locks is; whoever closes a
dead run has all of them.

Where locks have no effect (some network file systems), the lock is on a file of this machine instead, named after the
directory that it stands for.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from pi_subagents.files import Directory
from pi_subagents.paths import private_runtime_dirs, runtime_dir
from pi_subagents.store.record import (
    JOURNAL_FILE,
    LEASE_FILE,
    SESSION_LOCKS,
    as_store_error,
    birthmark,
    open_run,
    open_runs,
)

_ELSEWHERE = b"held elsewhere: in the runtime directory of the machine that works on it\n"
_LOCAL_LEASES = "leases"
_MAX_LEASE_BYTES = 256
_POLL_S = 0.005
_HANDOVER_S = 0.2
"""How long whoever hands a run over may take to close its own end."""

_held: weakref.WeakSet[Lease] = weakref.WeakSet()


class Lease:
    """An exclusive lock on a run that ends with `release` or with this process.

    The first descriptor is the one that is handed to another process; the others are taken again there.
    """

    def __init__(self, fd: int, *others: int) -> None:
        self._fds = [fd, *others]
        _held.add(self)

    # --- of a run -------------------------------------------------------------------------------------------

    @classmethod
    def of_run(cls, run: Directory, *, wait_s: float = 0) -> Lease | None:
        """Lock a run, or return None if somebody else holds it for longer than we wait.

        Waiting is for a run whose holder is dead: whoever has the lease then is busy closing it. Raises OSError.
        """
        deadline = time.monotonic() + wait_s
        fds: list[int] = []
        try:
            for fd in _places_to_lock(run):
                fds.append(fd)
                if not _lock(fd, deadline):
                    _free(fds)
                    return None
        except BaseException:
            _free(fds)
            raise
        return cls(*fds)

    @classmethod
    def of_new_run(cls, run: Directory) -> Lease:
        """Lock a run directory that nobody else knows yet; raises OSError."""
        if not locks_work(run):
            return cls._elsewhere(run)
        run.create(LEASE_FILE, birthmark(run))
        lease = cls.of_run(run)
        assert lease is not None, "a directory just made cannot be held by anybody else"
        return lease

    @classmethod
    def _elsewhere(cls, run: Directory) -> Lease:
        with Directory.at(runtime_dir()) as ours, ours.make(_LOCAL_LEASES) as folder:
            if not locks_work(folder):
                why = f"have no effect there, nor in {folder.path}; work on a local file system"
                raise OSError(errno.ENOLCK, f"locks {why}")
            run.create(LEASE_FILE, birthmark(run) + _ELSEWHERE)
            fd = folder.open(_identity(run), os.O_RDWR | os.O_CREAT)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(fd)

    @property
    def is_directory(self) -> bool:
        """Whether the descriptor to hand over is that of the run directory itself."""
        return stat.S_ISDIR(os.fstat(self.fileno()).st_mode)

    def complete(self, run: Directory) -> None:
        """Take what was not handed over with the lease, as far as it can be had: older versions look at the file."""
        deadline = time.monotonic() + _HANDOVER_S
        with suppress(OSError):
            for fd in _places_to_lock(run):
                if os.path.sameopenfile(fd, self.fileno()) or not _lock(fd, deadline):
                    os.close(fd)
                else:
                    self._fds.append(fd)

    # --- of something else ----------------------------------------------------------------------------------

    @classmethod
    def of_session(cls, runs_dir: Path, session_id: str) -> Lease | None:
        """Lock a session while it is decided who may resume it; None if somebody else is at it. Raises OSError."""
        with open_runs(runs_dir) as runs, runs.make(SESSION_LOCKS) as folder:
            fd = folder.open(session_id, os.O_RDWR | os.O_CREAT)
        if _lock(fd, 0):
            return cls(fd)
        os.close(fd)
        return None

    @classmethod
    def of_file(cls, path: Path) -> Self | None:
        """Lock a file of any other meaning; None if somebody else has it."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return cls(fd)

    # --- of any ---------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        """The open descriptor, to hand the lease to another process."""
        return self._fds[0] if self._fds else -1

    def release(self) -> None:
        """Give the run up; harmless when called twice."""
        fds, self._fds = self._fds, []
        _free(fds)

    def leave(self) -> None:
        """Close our end without freeing the lock: another process has it now."""
        fds, self._fds = self._fds, []
        for fd in fds:
            os.close(fd)


def is_held(run_dir: Path) -> bool:
    """Whether somebody alive holds the run in `run_dir`; raises StoreError."""
    with as_store_error(f"cannot tell who holds the run in {run_dir}"):
        try:
            with open_run(run_dir) as run:
                return has_holder(run)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return False
            raise


def has_holder(run: Directory) -> bool:
    """Whether somebody alive holds a run: through its directory, its lease, or a lease of this machine.

    The probe takes shared locks: with exclusive probes two readers would each take the other for a holder.
    """
    if is_locked(run.fileno()):
        return True
    try:
        fd = run.open(LEASE_FILE, os.O_RDONLY)
    except OSError:
        # It is missing, or it is no file: that alone frees nothing.
        return _is_held_here(run)
    try:
        return is_locked(fd) or (_is_elsewhere(fd) and _is_held_here(run))
    finally:
        os.close(fd)


@contextmanager
def closing(run: Directory, wait_s: float) -> Iterator[bool]:
    """Say, while a dead run is being closed, what its lease is held for; False where somebody else does for too long.

    The lock is on the journal, which a holder never locks: so a reader can tell the one from the other. Raises OSError.
    """
    fd = run.open(JOURNAL_FILE, os.O_RDONLY)
    try:
        yield _lock(fd, time.monotonic() + wait_s)
    finally:
        _free([fd])


def is_being_closed(run: Directory) -> bool:
    """Whether the lease of a run is held by somebody who found it dead."""
    try:
        fd = run.open(JOURNAL_FILE, os.O_RDONLY)
    except OSError:
        return False
    try:
        return is_locked(fd)
    finally:
        os.close(fd)


def locks_work(folder: Directory) -> bool:
    """Whether a lock on an open directory keeps others out."""
    first, second = _reopened(folder), _reopened(folder)
    try:
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return is_locked(second)
    except OSError:
        return False
    finally:
        _free([first, second])


def _places_to_lock(run: Directory) -> Iterator[int]:
    """Everything that says that a run is held, opened for us alone."""
    yield _reopened(run)
    fd = run.open(LEASE_FILE, os.O_RDWR | os.O_CREAT)
    is_elsewhere = _is_elsewhere(fd)
    yield fd
    if is_elsewhere:
        yield from _leases_here(run, os.O_RDWR)


def _is_elsewhere(fd: int) -> bool:
    return os.pread(fd, _MAX_LEASE_BYTES, 0).endswith(_ELSEWHERE)


def _leases_here(run: Directory, flags: int) -> Iterator[int]:
    # A holder may have another environment than we have, and so another runtime directory.
    for path in private_runtime_dirs():
        with suppress(OSError), Directory.at(path) as ours, ours.below(_LOCAL_LEASES) as folder:
            yield folder.open(_identity(run), flags)


def _is_held_here(run: Directory) -> bool:
    held = False
    for fd in _leases_here(run, os.O_RDONLY):
        held = held or is_locked(fd)
        os.close(fd)
    return held


def _identity(run: Directory) -> str:
    status = run.status()
    return f"{status.st_dev:x}-{status.st_ino:x}"


def _reopened(folder: Directory) -> int:
    """A descriptor of its own: a lock belongs to the opening, and a duplicate would share it."""
    return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder.fileno())


def is_locked(fd: int) -> bool:
    """Whether somebody else holds an exclusive lock on an open file; looking keeps nobody else from looking."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # a file system that knows no locks; the lease is elsewhere
    fcntl.flock(fd, fcntl.LOCK_UN)
    return False


def _lock(fd: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        except OSError:
            return True  # as above


def _free(fds: list[int]) -> None:
    for fd in fds:
        # Closing alone would leave the lock to a child that was forked a moment ago and has not executed yet.
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)
    for fd in fds:
        os.close(fd)


def _forget_in_child() -> None:
    # A child forked without exec shares the lock and would keep it after the holder's death.
    for lease in list(_held):
        lease.leave()


os.register_at_fork(after_in_child=_forget_in_child)
