"""Checks of the place where runs are recorded: can it be written, do locks work, whose are they, who was lost?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from pi_subagents.diagnosis.situation import Situation, nearest_existing
from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.models.event import Ended
from pi_subagents.models.finding import Finding
from pi_subagents.paths import runtime_dir, tilde
from pi_subagents.store import (
    FOREIGN,
    JOURNAL_FILE,
    is_held,
    is_ours,
    list_runs,
    locks_work,
    obstacle,
    open_runs,
    read_journal,
)

# On these, a lock may be seen by one machine only, or by nobody.
_NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNTS = Path("/proc/self/mountinfo")
_SHOWN_RUNS = 3


def check_records(situation: Situation) -> Iterator[Finding]:
    """Whether a run can be recorded, and told from a dead one."""
    folder = situation.runs_dir
    if (problem := _in_the_way(folder)) is not None:
        problem, _, advice = problem.partition("; ")
        yield Finding("records", False, f"{problem}, so no run can be recorded", advice, needed=True)
        return
    existing = nearest_existing(folder)
    try:
        works = _locks_work(existing)
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


def _in_the_way(folder: Path) -> str | None:
    try:
        open_runs(folder).close()
    except FileNotFoundError:
        return None
    except OSError as error:
        return obstacle(error)
    return None


def _locks_work(folder: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as probe, Directory.at(Path(probe)) as opened:
        return locks_work(opened)


def _locks(folder: Path, *, works: bool) -> Finding:
    kind = file_system_of(folder)
    if not works:
        return _without_locks(f"flock has no effect in {tilde(folder)} ({kind})")
    if kind in _NETWORK_FILE_SYSTEMS:
        other = "a run that another machine holds may look dead here"
        return Finding("locks", False, f"{tilde(folder)} is on {kind}: {other}", "work on a local file system")
    return Finding("locks", True, f"flock works ({kind})")


def _without_locks(problem: str) -> Finding:
    try:
        if _locks_work(runtime_dir()):
            instead = f"runs are locked in {tilde(runtime_dir())} instead, for this machine only"
            return Finding("locks", False, f"{problem}: {instead}", "work on a local file system")
    except OSError:
        pass
    return Finding("locks", False, problem, "work on a local file system", needed=True)


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
    """Runs that never ended although nobody holds them any more, and records that are not ours."""
    folders = list_runs(situation.runs_dir)
    ours = [folder for folder in folders if is_ours(folder)]
    if foreign := sorted({folder.name for folder in folders} - {folder.name for folder in ours}):
        yield _foreign(foreign)
    dead = list(_dead_runs(ours))
    if not dead:
        yield Finding("runs", True, "no run of this project has lost its holder")
        return
    names = sorted(dead, reverse=True)
    shown = ", ".join(names[:_SHOWN_RUNS]) + (", …" if len(names) > _SHOWN_RUNS else "")
    yield Finding(
        "runs",
        False,
        f"{len(names)} unfinished, but no process holds them any more: {shown}",
        "read one to close it as lost, for example: pi-subagents call get_subagent_output "
        f"""'{{"sessionId": "{names[0].rpartition("-")[2]}"}}'""",
    )


def _foreign(names: list[str]) -> Finding:
    shown = ", ".join(names[:_SHOWN_RUNS]) + (", …" if len(names) > _SHOWN_RUNS else "")
    detail = f"{len(names)} foreign: {shown}"
    return Finding("runs", False, detail, f"a {FOREIGN}, is only shown; delete it yourself if you do not want it")


def _dead_runs(folders: Iterable[Path]) -> Iterator[str]:
    yield from (folder.name for folder in folders if _is_dead(folder))


def _is_dead(run: Path) -> bool:
    try:
        return not is_held(run) and not any(isinstance(event, Ended) for event in read_journal(run / JOURNAL_FILE))
    except (OSError, StoreError):  # nobody can tell
        return False
