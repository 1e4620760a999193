"""Deleting what is no longer wanted, in a way that no reader and no resume can get in between.

A session is deleted by whoever holds its lock and the lease of each of its runs. Each directory is first renamed to a
hidden name, so that a deletion that is cut short leaves no half of a run for others to find. All of it happens below
one open directory, by plain names: nothing that stands in a file, and no link, leads out of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from pi_subagents.errors import SessionBusy, StoreError
from pi_subagents.files import PART_OF_REMOVED, Directory, belongs_to_us
from pi_subagents.fold import RunState
from pi_subagents.models import short_id
from pi_subagents.store.lease import Lease, has_holder
from pi_subagents.store.reading import load_run
from pi_subagents.store.record import (
    SESSION_LOCKS,
    by_session,
    list_runs,
    obstacle,
    open_runs,
    session_of,
    session_runs,
)

_DRAFT = ".new"


def remove_session(runs_dir: Path, session_id: str) -> list[Path]:
    """Delete a session that is over; the run directories it had. Raises SessionBusy and StoreError."""
    folders = session_runs(runs_dir, session_id)
    try:
        with open_runs(runs_dir) as runs, ExitStack() as held:
            for folder in folders:
                require_removable(folder)  # first: of what is not ours, not even a lock is taken
            _hold(held, Lease.of_session(runs_dir, session_id), session_id)
            folders = session_runs(runs_dir, session_id)
            for folder in folders:
                require_removable(folder)
                with runs.below(folder.name) as run:
                    _hold(held, Lease.of_run(run), session_id)
            for hidden in [_hide(runs, folder.name) for folder in folders]:
                runs.remove(hidden)
            with runs.below(SESSION_LOCKS) as locks:
                locks.unlink(session_id)
    except OSError as error:
        raise StoreError(f"cannot delete session {session_id} in {runs_dir}: {obstacle(error)}") from error
    return folders


def leftovers(runs_dir: Path, drafts_before: float) -> list[Path]:
    """What nobody will ever need: unfinished deletions, locks of sessions that are gone, abandoned drafts.

    A draft is a run whose holder died before it was published; those made after `drafts_before` (seconds since the
    epoch) are left alone.
    """
    try:
        with open_runs(runs_dir) as runs:
            found = [runs_dir / name for name in runs.names() if _is_leftover(runs, name, drafts_before)]
            return found + [runs_dir / SESSION_LOCKS / name for name in _unused_locks(runs, runs_dir)]
    except OSError:
        return []


def remove_leftover(path: Path) -> None:
    """Delete something that `leftovers` found; raises StoreError."""
    is_lock = path.parent.name == SESSION_LOCKS
    try:
        with (
            open_runs(path.parent.parent if is_lock else path.parent) as runs,
            runs.below(*([SESSION_LOCKS] if is_lock else [])) as folder,
        ):
            folder.remove(path.name)
    except OSError as error:
        raise StoreError(f"cannot delete {path}: {obstacle(error)}") from error


def disk_size(path: Path) -> int:
    """How many bytes of the disk a file or a directory with everything in it takes."""
    total, left = _allocated(path), [path]
    while left:  # not by recursion: nobody knows how deep it is
        with suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                total += _allocated(Path(entry.path))
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
    return total


def _hold(held: ExitStack, lease: Lease | None, session_id: str) -> None:
    if lease is None:
        raise SessionBusy(f"Session {short_id(session_id)} is in use; try again when it has ended.")
    held.callback(lease.release)


def require_removable(run_dir: Path) -> RunState:
    """The state of a run that can be deleted; raises StoreError if it is not ours, and SessionBusy while it runs."""
    state = load_run(run_dir)
    if state.foreign:
        raise StoreError(f"{run_dir} is a {state.foreign}; delete it yourself if you do not need it")
    if not state.status.is_terminal:
        raise SessionBusy(f"Session {short_id(session_of(run_dir))} is still running.")
    return state


def _hide(runs: Directory, name: str) -> str:
    hidden = f".{name}{PART_OF_REMOVED}"
    runs.rename(name, hidden)
    return hidden


def _is_leftover(runs: Directory, name: str, drafts_before: float) -> bool:
    if not name.startswith(".") or not name.endswith((PART_OF_REMOVED, _DRAFT)):
        return False
    status = runs.status(name)
    if not stat.S_ISDIR(status.st_mode) or not belongs_to_us(status):
        return False
    if name.endswith(PART_OF_REMOVED):
        return True
    with runs.below(name) as draft:
        return status.st_mtime < drafts_before and not has_holder(draft)


def _unused_locks(runs: Directory, runs_dir: Path) -> Iterator[str]:
    try:
        with runs.below(SESSION_LOCKS) as folder:
            locks = [name for name in folder.names() if _is_our_file(folder, name)]
    except OSError:
        return
    # In this order: a lock is made after its session's first run, so that run is seen now if it was ever there.
    used = by_session(list_runs(runs_dir))
    yield from (name for name in locks if name not in used)


def _is_our_file(folder: Directory, name: str) -> bool:
    status = folder.status(name)
    return stat.S_ISREG(status.st_mode) and belongs_to_us(status)


def _allocated(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0  # it has just gone
