"""Checks of directories: the agent directory, files with keys that others could read, and the records of runs.

Of the records: can they be written, do locks work, whose are they, who was lost?
"""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.harness import Inspection
from pi_subagents.harness.pi.programs import keeps_keys
from pi_subagents.models.event import Ended
from pi_subagents.models.finding import Finding
from pi_subagents.paths import runs_dir, runtime_dir, tilde
from pi_subagents.profiles import load_presets, load_profiles
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

_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
_ENTERED_BY_OTHERS = stat.S_IXGRP | stat.S_IXOTH
# On these, a lock may be seen by one machine only, or by nobody.
_NETWORK_FILE_SYSTEMS = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "nfs", "nfs4", "smb3", "smbfs"}
)
_MOUNTS = Path("/proc/self/mountinfo")
_SHOWN_RUNS = 3


def check_agent_dir(inspection: Inspection) -> Iterator[Finding]:
    """Whether pi can keep its own files."""
    folder = inspection.place.agent_dir
    existing = _nearest_existing(folder)
    usable = os.access(existing, os.R_OK | os.W_OK | os.X_OK)
    if not usable:
        yield Finding(
            "agent directory",
            False,
            f"{tilde(existing)} is not writable",
            "make it writable, or choose another one with PI_AGENT_DIR",
        )
    elif existing == folder:
        yield Finding("agent directory", True, tilde(folder))
    else:
        yield Finding("agent directory", True, f"{tilde(folder)} does not exist yet; pi creates it on first start")


def check_privacy(inspection: Inspection) -> Iterator[Finding]:
    """Whether files with keys are for their owner's eyes only."""
    exposed = [path for path in _files_with_keys(inspection) if _is_exposed(path)]
    for path in exposed:
        detail = f"{tilde(path)} contains a key, and other users can read it"
        yield Finding("keys", False, detail, f"run: chmod 600 {_shell_word(path)}")
    if not exposed:
        yield Finding("keys", True, "no file with a key is readable by other users")


def _files_with_keys(inspection: Inspection) -> Iterator[Path]:
    place = inspection.place
    for name in ("auth.json", "models.json"):
        path = place.agent_dir / name
        if keeps_keys(path):
            yield path
    for load in (load_profiles, load_presets):
        for profile in load(place.cwd, place.agent_dir).profiles.values():
            if profile.api_key is not None and profile.path is not None:
                yield profile.path


def _is_exposed(path: Path) -> bool:
    try:
        readable = path.stat().st_mode & _READABLE_BY_OTHERS
        # A directory that others cannot enter protects what is in it.
        folders = [folder.stat().st_mode & _ENTERED_BY_OTHERS for folder in (path.parent, path.parent.parent)]
    except OSError:
        return False
    return bool(readable) and all(folders)


def _shell_word(path: Path) -> str:
    """A path as it can be pasted into a command, whatever it is called."""
    shown = tilde(path)
    rest = shown.removeprefix("~")  # in quotes it would not stand for anybody's home
    return shown if shlex.quote(rest) == rest else shlex.quote(str(path))


def check_records(inspection: Inspection) -> Iterator[Finding]:
    """Whether a run can be recorded, and told from a dead one."""
    folder = runs_dir(inspection.place.project)
    if (problem := _in_the_way(folder)) is not None:
        problem, _, advice = problem.partition("; ")
        yield Finding("records", False, f"{problem}, so no run can be recorded", advice, needed=True)
        return
    existing = _nearest_existing(folder)
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


def check_unfinished_runs(inspection: Inspection) -> Iterator[Finding]:
    """Runs that never ended although nobody holds them any more, and records that are not ours."""
    folders = list_runs(runs_dir(inspection.place.project))
    ours = [folder for folder in folders if is_ours(folder)]
    if foreign := sorted({folder.name for folder in folders} - {folder.name for folder in ours}):
        advice = f"a {FOREIGN}, is only shown; delete it yourself if you do not want it"
        yield Finding("runs", False, f"{len(foreign)} foreign: {_some(foreign)}", advice)
    dead = sorted((folder.name for folder in ours if _is_dead(folder)), reverse=True)
    if not dead:
        yield Finding("runs", True, "no run of this project has lost its holder")
        return
    yield Finding(
        "runs",
        False,
        f"{len(dead)} unfinished, but no process holds them any more: {_some(dead)}",
        "read one to close it as lost, for example: pi-subagents call get_subagent_output "
        f"""'{{"sessionId": "{dead[0].rpartition("-")[2]}"}}'""",
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN_RUNS]) + (", …" if len(names) > _SHOWN_RUNS else "")


def _is_dead(run: Path) -> bool:
    try:
        return not is_held(run) and not any(isinstance(event, Ended) for event in read_journal(run / JOURNAL_FILE))
    except (OSError, StoreError):  # nobody can tell
        return False


def _nearest_existing(path: Path) -> Path:
    """`path`, or the closest thing above it that is there; a file in the way is found too."""
    return next(entry for entry in (path, *path.parents) if entry.exists())
