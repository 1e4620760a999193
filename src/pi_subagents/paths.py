"""Where things are: the agent directory, the project, our own data.

The specification names `PI_AGENT_DIR`, `pi` itself reads `PI_CODING_AGENT_DIR`; both are accepted, the
specification's first.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pi_subagents.errors import SettingsError

_MAX_RUNTIME_BYTES = 70
"""What leaves room for the name of a socket."""

_RUNTIME_NAME = "pi-subagents"

AGENT_DIR_VARIABLES = ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR")


def home_dir() -> Path:
    """The user's home directory; raises SettingsError.

    With a relative one a stranger's project could bring the files that count as the user's own.
    """
    try:
        home = Path.home()
    except RuntimeError:
        raise SettingsError("this user has no home directory; set HOME") from None
    if not home.is_absolute():
        raise SettingsError(f'HOME is "{home}", which is not an absolute path; set it to your home directory')
    return home


def tilde(path: Path) -> str:
    """A path as people write it, with ~ for their home."""
    try:
        return str("~" / path.relative_to(home_dir()))
    except ValueError:
        return str(path)


def find_program(name: str, path: str | None) -> str | None:
    """Where a program is, as `shutil.which` finds it, which would bring three compressors along."""
    path = os.defpath if path is None else path
    folders = [""] if os.sep in name else [folder for folder in path.split(os.pathsep) if path]
    for folder in folders:
        found = os.path.join(folder, name)  # noqa: PTH118 - a path would lose the `./` that says where to look
        # Not `Path.is_file`: a directory that we may not look into is an error to it, and others follow on the PATH.
        if os.path.isfile(found) and os.access(found, os.X_OK):  # noqa: PTH113
            return found
    return None


def directory_named_by(variable: str, value: str) -> Path:
    """The directory that a variable names, which may begin with a `~`; raises SettingsError."""
    home_dir()
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:
        raise SettingsError(f'{variable} is "{value}", but there is no such user; set it to an absolute path') from None


def agent_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The directory with the user's global profiles, settings and skills; raises SettingsError."""
    environ = os.environ if environ is None else environ
    for variable in AGENT_DIR_VARIABLES:
        if value := environ.get(variable):
            return directory_named_by(variable, value)
    return home_dir() / ".pi" / "agent"


def project_root(cwd: Path, agent_directory: Path | None = None) -> Path:
    """The project that `cwd` is in, else `cwd` itself."""
    return find_project(cwd, agent_directory) or cwd.absolute()


def find_project(folder: Path, agent_directory: Path | None = None) -> Path | None:
    """The nearest ancestor of a directory with `.pi` or `.git`, if there is one.

    The `.pi` that merely holds the agent directory (`~/.pi`) does not make the home directory a project.
    """
    agent_directory = (agent_directory or agent_dir()).absolute()
    for above in ancestors(folder):
        git, dot_pi = above / ".git", above / ".pi"
        if git.exists() and is_part_of(above, git):
            return above
        if dot_pi.is_dir() and is_part_of(above, dot_pi) and not agent_directory.is_relative_to(dot_pi):
            return above
    return None


def is_part_of(folder: Path, path: Path) -> bool:
    """Whether something in a folder was put there by its owner, by us or by root.

    Everybody can put a `.pi` into a shared directory such as `/tmp`, which does not make it the project of all others.
    """
    try:
        return path.lstat().st_uid in (folder.stat().st_uid, os.geteuid(), 0)
    except OSError:
        return False


def ancestors(folder: Path) -> Iterator[Path]:
    """`folder` itself and every directory above it, nearest first."""
    folder = folder.absolute()
    yield folder
    yield from folder.parents


def runs_dir(project: Path) -> Path:
    """Where a project keeps the records of its runs."""
    return project / ".pi" / "subagents" / "runs"


def project_of(run_dir: Path) -> Path:
    """The project that keeps the record of a run: the inverse of `runs_dir`."""
    return run_dir.parents[3]


def runtime_dir() -> Path:
    """A private place with a short path, for sockets: about a hundred bytes is all a socket's address can hold."""
    for folder in _runtime_candidates():
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(folder):
                return folder
    raise PermissionError("no private directory has a path short enough for sockets")


def is_own_socket(path: Path) -> bool:
    """Whether that is a socket of the user's in a private directory for our sockets, whoever told its path."""
    try:
        status = path.lstat()
        named = path.parent.name in (_RUNTIME_NAME, f"{_RUNTIME_NAME}-{os.getuid()}")
        return named and stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid() and _is_private(path.parent)
    except (OSError, ValueError):
        return False


def private_runtime_dirs() -> Iterator[Path]:
    """Wherever programs with this user's other environments may have put theirs; none is made."""
    for folder in _runtime_candidates():
        with suppress(OSError):
            if _is_private(folder):
                yield folder


def _runtime_candidates() -> Iterator[Path]:
    # Somebody else's runtime directory (as after `su`) ends with their session; in /tmp anybody can be there first.
    base = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if base.is_absolute() and base.is_dir() and base.stat().st_uid == os.getuid():
        yield from _short(base / _RUNTIME_NAME)
    yield Path(f"/tmp/{_RUNTIME_NAME}-{os.getuid()}")
    yield from _short(home_dir() / ".cache" / _RUNTIME_NAME)


def _short(folder: Path) -> Iterator[Path]:
    if len(os.fsencode(folder)) <= _MAX_RUNTIME_BYTES:
        yield folder


def _is_private(folder: Path) -> bool:
    # A link could lead anywhere.
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where `install-pi` puts the agent program: beside the environment that has one, else the user's data.

    Raises SettingsError.
    """
    environ = os.environ if environ is None else environ
    if value := environ.get("PI_SUBAGENTS_DATA_DIR"):
        return directory_named_by("PI_SUBAGENTS_DATA_DIR", value)
    beside = Path(sys.prefix) / "share" / "pi-subagents"
    if beside.is_dir():
        return beside
    base = Path(environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else home_dir() / ".local" / "share") / "pi-subagents"
