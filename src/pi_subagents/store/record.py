"""Where records are, and whose they are.

A record is a real directory of regular files in the `runs` directory of a project, all of them the user's own. It is
reached from the project downwards without following a link. Whatever else stands there, cloned, unpacked or put there
by another user, is a foreign record: it is shown, as far as it can be read, and nothing in it is ever changed.

A record's place decides what it is called. What its files say of run, session or directory leads nowhere else.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from heapq import merge
from pathlib import Path

import msgspec

from pi_subagents.errors import StoreError
from pi_subagents.files import MAX_CONFIGURATION_BYTES, Directory, belongs_to_us
from pi_subagents.models.event import AnyEvent, Created
from pi_subagents.models.run import is_run_id

_log = logging.getLogger(__name__)


JOURNAL_FILE = "events.jsonl"
META_FILE = "meta.json"
RESULT_FILE = "result.json"
LEASE_FILE = "lease"
STOP_FILE = "stop"
CONTROL_FILE = "control"
TIDY_FILE = "tidy.json"
SESSION_LOCKS = ".sessions"

FOREIGN = "foreign record, not ours"

OUR_FILES = frozenset(
    {
        *(JOURNAL_FILE, META_FILE, RESULT_FILE, LEASE_FILE, STOP_FILE, CONTROL_FILE, TIDY_FILE, "notified"),
        *("stdout.log", "stderr.log", "transcript.log", "prompt.md", "child-session.jsonl"),
    }
)
"""What we write into a record, or give to an agent: if one of these is not ours, nothing of the record is."""

_DEPTH = 3
"""`.pi/subagents/runs`: above that, in the path of the project itself, links are the user's own business."""

_warned: set[Path] = set()


# --- the directory of all runs ----------------------------------------------------------------------------------


def open_runs(runs_dir: Path) -> Directory:
    """The directory with a project's records; raises OSError, also where a link would have to be followed."""
    with Directory.at(_project(runs_dir)) as project:
        return project.below(*runs_dir.parts[-_DEPTH:])


def make_runs(runs_dir: Path) -> Directory:
    """The same, made where it is missing, and only where no stranger can put something in its place; raises OSError.

    The owner of the project is none: in a container, root often works in a directory of the user outside.
    """
    _project(runs_dir).mkdir(parents=True, exist_ok=True)
    folder = Directory.at(_project(runs_dir))
    owner = folder.status().st_uid
    *above, last = runs_dir.parts[-_DEPTH:]
    for name, mode in [*((name, 0o777) for name in above), (last, 0o700)]:
        with folder as parent:
            folder = parent.make(name, mode)
        if folder.status().st_uid != owner and not belongs_to_us(folder.status()):
            path = folder.path
            folder.close()
            raise PermissionError(errno.EPERM, "belongs to another user", str(path))
    # The second one is for search tools outside of git repositories: an agent must not find its own records.
    for name in (".gitignore", ".ignore"):
        with suppress(FileExistsError):
            folder.create(name, b"*\n")
    return folder


def _project(runs_dir: Path) -> Path:
    return runs_dir.parents[_DEPTH - 1]


@contextmanager
def as_store_error(what: str) -> Iterator[None]:
    """Raise what the system refuses in the block as a StoreError that says `what` could not be done, and why."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what}: {error.strerror}") from error


def obstacle(error: OSError) -> str:
    """Why records cannot be kept or reached there, and what to do where something stands in the way."""
    if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EPERM) or not error.filename:
        return error.strerror or str(error)
    if error.errno == errno.ENOTDIR:
        return f"{error.filename} is not a directory; move it out of the way, or work in another directory"
    return f"{error.filename} {error.strerror}; put a directory of your own there, or work in another directory"


def list_runs(runs_dir: Path, ending: str = "") -> list[Path]:
    """The directories of all runs of a project, oldest first; foreign ones too, if only by their names."""
    try:
        with open_runs(runs_dir) as runs:
            return [runs_dir / name for name in runs.names() if name.endswith(ending) and is_run_id(name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        if runs_dir not in _warned:
            _warned.add(runs_dir)
            _log.warning("the records in %s are left alone: %s", runs_dir, obstacle(error))
        return []


def session_runs(runs_dir: Path, session_id: str) -> list[Path]:
    """The directories of a session's runs, oldest first."""
    return in_order(list_runs(runs_dir, f"-{session_id}"))


def by_session(run_dirs: Sequence[Path]) -> dict[str, list[Path]]:
    """Runs of a project, as they are listed, by the ids of their sessions; the newest first."""
    sessions: dict[str, list[Path]] = {}
    for folder in reversed(run_dirs):
        sessions.setdefault(session_of(folder), []).append(folder)
    return sessions


def session_of(run_dir: Path) -> str:
    """The id of the session that a run belongs to."""
    return run_dir.name.rpartition("-")[2]


def in_order(run_dirs: Collection[Path]) -> list[Path]:
    """The runs of one session, oldest first.

    Names made before a clock was set back can be out of order; the session's list is not. Only its order counts: a run
    that it lacks has its place by its name, and one that is not there has none.
    """
    folders = {folder.name: folder for folder in run_dirs}
    listed = [name for name in _listed(next(iter(run_dirs))) if name in folders] if len(folders) > 1 else []
    return [folders[name] for name in merge(listed, sorted(folders.keys() - listed))]


def _listed(run_dir: Path) -> Iterable[str]:
    """What stands in the list of a run's session, each line once."""
    try:
        with open_runs(run_dir.parent) as runs, runs.below(SESSION_LOCKS) as lists:
            return dict.fromkeys(lists.read(session_of(run_dir), _MAX_LIST_BYTES).decode("ascii", "replace").split())
    except OSError:
        return ()


_MAX_LIST_BYTES = 256 * 1024
"""Some thousands of runs: more than any session has."""
_MAX_NOTE_BYTES = 64 * 1024
_MAX_FILE_BYTES = 64 * 1024 * 1024
"""A conversation of an agent's is far smaller; a record may come from anywhere."""


def list_run(runs: Directory, run_id: str, session_id: str) -> None:
    """Put a run on the list of its session; raises OSError."""
    with runs.make(SESSION_LOCKS) as lists:
        fd = lists.open(session_id, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with os.fdopen(fd, "ab", buffering=0) as file:
        file.write(f"{run_id}\n".encode())


# --- one run ----------------------------------------------------------------------------------------------------


def open_run(run_dir: Path) -> Directory:
    """The directory of a run, ours or not; raises OSError, also where a link would have to be followed."""
    with open_runs(run_dir.parent) as runs:
        return runs.below(run_dir.name)


def why_foreign(run: Directory) -> str | None:
    """Why a record is not ours; None if it is."""
    if not belongs_to_us(run.status()):
        return "it belongs to another user"
    try:
        run.require_ours(OUR_FILES)
    except OSError as error:
        return f"{Path(error.filename).name} {error.strerror}"
    return None


@contextmanager
def our_run(run_dir: Path) -> Iterator[Directory]:
    """The directory of a run that is ours, to change something in it; raises StoreError for any other, and OSError."""
    with open_run(run_dir) as run:
        if why := why_foreign(run):
            raise StoreError(f"{run_dir} is a {FOREIGN} ({why}): nothing in it is changed")
        yield run


def is_ours(run_dir: Path) -> bool:
    """Whether there is a record of ours."""
    try:
        with open_run(run_dir) as run:
            return why_foreign(run) is None
    except OSError:
        return False


def birthmark(run: Directory) -> bytes:
    """What is written into a record's lease when it is made: a copy, a clone or an unpacked archive has it wrong."""
    return f"{run.status().st_ino:x}\n".encode()


def was_made_here(run_dir: Path) -> bool:
    """Whether a record of ours stands where it was made, so that what it says of other places can be believed."""
    with suppress(OSError, StoreError), our_run(run_dir) as run:
        return run.read(LEASE_FILE, MAX_CONFIGURATION_BYTES).startswith(birthmark(run))
    return False


def read_file(path: Path) -> bytes:
    """A file of a run as a whole, or nothing where none can be read without following a link or filling the memory."""
    try:
        with open_run(path.parent) as run:
            return run.read(path.name, _MAX_FILE_BYTES)
    except OSError:
        return b""


def in_its_place(event: AnyEvent, run_dir: Path, foreign: str | None) -> AnyEvent:
    """An event as it counts for the record it was found in: the place decides which run it is, not the journal.

    The name is what every surface shows, so it says whose the record is.
    """
    if not isinstance(event, Created):
        return event
    facts = {"run_id": run_dir.name, "session_id": session_of(run_dir)} if is_run_id(run_dir.name) else {}
    if foreign:
        facts["name"] = f"[{FOREIGN}] {event.name}"
    return msgspec.structs.replace(event, **facts)


# --- what processes tell each other about a run -----------------------------------------------------------------


def request_stop(run_dir: Path, message: str) -> None:
    """Ask the holder of a run to stop it; raises StoreError."""
    with as_store_error(f"cannot ask the run in {run_dir} to stop"), our_run(run_dir) as run:
        run.replace(STOP_FILE, message.encode("utf-8", "replace"))


def stop_request(run_dir: Path) -> str | None:
    """What was asked for, if anything."""
    with suppress(OSError), open_run(run_dir) as run:
        return run.read(STOP_FILE, _MAX_NOTE_BYTES).decode("utf-8", "replace")
    return None


def is_to_stop(run_dir: Path, lease: int) -> bool:
    """Whether a stop was asked for; quick for whoever has the lease in hand, as it is mostly the directory itself."""
    if stat.S_ISDIR(os.fstat(lease).st_mode):
        return Directory(lease, run_dir).has(STOP_FILE)
    return stop_request(run_dir) is not None


def put_address(run_dir: Path, address: str) -> None:
    """Say where the holder of a run can be spoken to; raises OSError and StoreError."""
    with our_run(run_dir) as run:
        run.replace(CONTROL_FILE, address.encode("utf-8", "surrogateescape"))


def address_of(run_dir: Path) -> str | None:
    """Where the holder of a run says it can be spoken to; None if nowhere, or if the record is not ours."""
    with suppress(OSError, StoreError), our_run(run_dir) as run:
        return run.read(CONTROL_FILE, _MAX_NOTE_BYTES).decode("utf-8", "surrogateescape")
    return None


def take_address_away(run_dir: Path) -> None:
    """The holder of a run cannot be spoken to any more."""
    with suppress(OSError, StoreError), our_run(run_dir) as run:
        run.unlink(CONTROL_FILE)


def mark(run_dir: Path, name: str) -> bool:
    """Take note of something that is done once; False if it was before, or if the record is not ours to mark."""
    try:
        with our_run(run_dir) as run:
            run.create(name)
    except (FileExistsError, StoreError):
        return False
    except OSError:
        return True  # a disk that cannot be written must not swallow what is to be told once
    return True
