"""Checks of the place where runs are recorded: can it be written, do locks work, did a run lose its holder?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pi_subagents.diagnosis.finding import Finding
from pi_subagents.diagnosis.situation import Situation, nearest_existing, tilde
from pi_subagents.models.event import Ended
from pi_subagents.store import JOURNAL_FILE, Lease, is_held, read_journal

# On these, a lock may be seen by one machine only, or by nobody.
_NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNTS = Path("/proc/self/mountinfo")
_SHOWN_RUNS = 3
_FREED_WITHIN_S = 2.0


def check_records(situation: Situation) -> Iterator[Finding]:
    """Whether a run can be recorded, and told from a dead one."""
    folder = situation.runs_dir
    existing = nearest_existing(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=existing) as probe:
            works = locks_work(Path(probe))
    except OSError as error:
        yield Finding(
            "records",
            False,
            f"{tilde(existing)} cannot be written ({error.strerror}), so no run can be recorded",
            "make it writable, or work in another directory",
            needed=True,
        )
        return
    yield Finding("records", True, tilde(folder), needed=True)
    yield _locks(existing, works=works)


def _locks(folder: Path, *, works: bool) -> Finding:
    kind = file_system_of(folder)
    if not works:
        advice = "work on a local file system"
        return Finding("locks", False, f"flock does not work in {tilde(folder)} ({kind})", advice, needed=True)
    if kind in _NETWORK_FILE_SYSTEMS:
        other = "a run that another machine holds may look dead here"
        return Finding("locks", False, f"{tilde(folder)} is on {kind}: {other}", "work on a local file system")
    return Finding("locks", True, f"flock works ({kind})")


def locks_work(folder: Path) -> bool:
    """Whether a lock keeps others out while it is held, and lets them in afterwards."""
    lease = Lease.take(folder)
    if lease is None:
        return False
    try:
        held = is_held(folder) and Lease.take(folder) is None
    finally:
        lease.release()
    return held and _is_freed(folder)


def _is_freed(folder: Path) -> bool:
    # A program that another check starts at this moment shares the locked descriptor until it has replaced itself.
    deadline = time.monotonic() + _FREED_WITHIN_S
    while is_held(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def file_system_of(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The kind of file system a directory is on, as the kernel calls it; "unknown" where it does not say."""
    best, kind = "", "unknown"
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return kind
    resolved = folder.resolve()
    for line in lines:
        left, _, right = line.partition(" - ")
        point = left.split(" ")[4].replace("\\040", " ")
        if resolved.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, right.split(" ")[0]
    return kind


def check_unfinished_runs(situation: Situation) -> Iterator[Finding]:
    """Runs that never ended although nobody holds them any more."""
    dead = list(_dead_runs(situation.runs_dir))
    if not dead:
        yield Finding("runs", True, "none of this project's has lost its holder")
        return
    names = sorted(dead, reverse=True)
    shown = ", ".join(names[:_SHOWN_RUNS]) + (", …" if len(names) > _SHOWN_RUNS else "")
    yield Finding(
        "runs",
        False,
        f"{len(names)} without an end, although nobody holds them any more: {shown}",
        "read one to close it as lost, for example: pi-subagents call get_subagent_output "
        f"""'{{"sessionId": "{names[0].rpartition("-")[2]}"}}'""",
    )


def _dead_runs(folder: Path) -> Iterator[str]:
    for journal in folder.glob(f"*/{JOURNAL_FILE}"):
        run = journal.parent
        # A run that is about to be published has a hidden name.
        if not run.name.startswith(".") and _is_dead(run):
            yield run.name


def _is_dead(run: Path) -> bool:
    try:
        return not is_held(run) and not any(isinstance(event, Ended) for event in read_journal(run / JOURNAL_FILE))
    except OSError:  # nobody can tell
        return False
