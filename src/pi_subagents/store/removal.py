"""Deleting what is no longer wanted, in a way that no reader and no resume can get in between.

A session is deleted by whoever holds its lock and the lease of each of its runs. Each directory is first renamed to a
hidden name, so that a deletion that is cut short leaves no half of a run for others to find.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from pi_subagents.errors import SessionBusy, StoreError
from pi_subagents.store.lease import SESSION_LOCKS, Lease, is_held
from pi_subagents.store.reading import list_runs, load_run, session_runs

_DRAFT = ".new"
_GONE = ".gone"


def remove_session(runs_dir: Path, session_id: str) -> list[Path]:
    """Delete a session that is over; the run directories it had. Raises SessionBusy and StoreError."""
    try:
        with ExitStack() as held:
            _hold(held, Lease.of_session(runs_dir, session_id), session_id)
            folders = session_runs(runs_dir, session_id)
            for folder in folders:
                _check(folder, session_id)
                _hold(held, Lease.take(folder), session_id)
            for hidden in [_hide(folder) for folder in folders]:
                shutil.rmtree(hidden)
            (runs_dir / SESSION_LOCKS / session_id).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot delete session {session_id} in {runs_dir}: {error.strerror}") from error
    return folders


def leftovers(runs_dir: Path, drafts_before: float) -> list[Path]:
    """What nobody will ever need: unfinished deletions, locks of sessions that are gone, abandoned drafts.

    A draft is a run whose holder died before it was published; those made after `drafts_before` (seconds since the
    epoch) are left alone.
    """
    try:
        entries = list(os.scandir(runs_dir))
    except OSError:
        return []
    found = [Path(entry.path) for entry in entries if _is_leftover(entry, drafts_before)]
    return found + list(_unused_locks(runs_dir))


def remove_leftover(path: Path) -> None:
    """Delete something that `leftovers` found; raises StoreError."""
    try:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot delete {path}: {error.strerror}") from error


def disk_size(path: Path) -> int:
    """How many bytes of the disk a file or a directory with everything in it takes."""
    total = _allocated(path)
    for folder, folders, files in os.walk(path):
        total += sum(_allocated(Path(folder, name)) for name in (*folders, *files))
    return total


def _hold(held: ExitStack, lease: Lease | None, session_id: str) -> None:
    if lease is None:
        raise SessionBusy(f"Session {session_id} is in use; try again when it is over.")
    held.callback(lease.release)


def _check(folder: Path, session_id: str) -> None:
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link to another place; delete it yourself if you want it gone")
    if not load_run(folder).status.is_terminal:
        raise SessionBusy(f"Session {session_id} is still running.")


def _hide(folder: Path) -> Path:
    return folder.rename(folder.with_name(f".{folder.name}{_GONE}"))


def _is_leftover(entry: os.DirEntry[str], drafts_before: float) -> bool:
    if not entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
        return False
    if entry.name.endswith(_GONE):
        return True
    old = entry.stat(follow_symlinks=False).st_mtime < drafts_before
    return entry.name.endswith(_DRAFT) and old and not is_held(Path(entry.path))


def _unused_locks(runs_dir: Path) -> Iterator[Path]:
    try:
        locks = list(os.scandir(runs_dir / SESSION_LOCKS))
    except OSError:
        return
    # In this order: a lock is made after its session's first run, so that run is seen now if it was ever there.
    used = {folder.name.rpartition("-")[2] for folder in list_runs(runs_dir)}
    for lock in locks:
        if lock.name not in used:
            yield Path(lock.path)


def _allocated(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0  # it has just gone
