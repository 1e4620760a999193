"""Fetches things into the data directory, where they appear complete or not at all.

They are put together in a scratch folder of that directory and renamed. So an interrupted install leaves nothing
half-done, and two at the same time do not disturb each other.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pi_subagents.errors import InstallError

INSTALL_TIMEOUT_S = 900.0  # 200 MB over a slow line
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]*")
"""A version or a tag; it becomes the name of a directory."""
_NPM_ERROR = re.compile(r"^npm error code (\w+)", re.MULTILINE)
NO_SPACE = "free some space, or set PI_SUBAGENTS_DATA_DIR to another directory"
_IS_FULL = re.compile(r"no space left on device|disk quota exceeded|^npm error code (?:ENOSPC|EDQUOT)", re.I | re.M)
_SCRATCH_PREFIX = ".scratch-"


def require_version(version: str, of: str, example: str) -> None:
    """Raise InstallError for anything that npm might not read as a version."""
    if not VERSION.fullmatch(version):
        raise InstallError(f"{version!r} is not a version of {of}; use one such as {example}, or `latest`.")


@contextmanager
def installing(what: str, data: Path) -> Iterator[None]:
    """Create the data directory and remove what killed installs left; raises InstallError if it cannot be used."""
    try:
        data.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(data)
        yield
    except OSError as error:
        raise InstallError(f"{what} cannot be installed in {data} ({error}); {NO_SPACE}.") from error


@contextmanager
def scratch(data: Path) -> Iterator[Path]:
    """A temporary folder in the data directory, to put something together in."""
    with ExitStack() as held:
        with _locked(data):  # so that nobody takes the folder for abandoned before it is locked
            folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix=_SCRATCH_PREFIX, dir=data)))
            held.enter_context(_locked(folder))
        yield folder


def _remove_abandoned(data: Path) -> None:
    """Delete what killed installs left: an install that is still at work holds the lock of its folder."""
    with _locked(data):
        for folder in data.glob(f"{_SCRATCH_PREFIX}*"):
            with suppress(OSError), _locked(folder, wait=False) as is_ours:
                if is_ours:
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a folder, if it can be locked, until the block or this process ends; whether it is locked."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _lock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    finally:
        os.close(descriptor)


def _lock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how)
    except OSError:  # held by another install, or a file system without locks
        return False
    return True


def publish(staged: Path, target: Path, usable: Callable[[Path], bool]) -> None:
    """Move a finished directory into place; one that another install put there in the meantime stays."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not usable(target):
        with suppress(FileNotFoundError):
            target.rename(staged.with_name("broken"))
    try:
        staged.rename(target)
    except OSError:
        if not usable(target):
            raise


def write_launcher(launcher: Path, command: str, data: Path) -> None:
    """Write a script that starts a command; it is replaced in one step, never half-written.

    One that says the same stays: what is remembered of a program is remembered of its file.
    """
    launcher.parent.mkdir(exist_ok=True)
    script = f'#!/bin/sh\nexec {command} "$@"\n'.encode()
    if os.access(launcher, os.X_OK) and launcher.read_bytes() == script:
        return
    with scratch(data) as folder:
        new = folder / launcher.name
        new.write_bytes(script)
        new.chmod(0o755)
        new.replace(launcher)


def run(
    command: Sequence[str],
    doing: str,
    advice: str,
    environ: Mapping[str, str] | None = None,
    advice_for: Mapping[str, str] = {},
) -> None:
    """Run a program to its end; raises InstallError with what was being done, and what it printed in a note.

    `advice_for` has better advice for some of npm's error codes.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_TIMEOUT_S,
            env=environ,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{doing} took more than {INSTALL_TIMEOUT_S:.0f} s; {advice}.") from None
    if done.returncode != 0:
        found = _NPM_ERROR.search(done.stdout)
        code = found[1] if found else None
        advice = NO_SPACE if _IS_FULL.search(done.stdout) else advice_for.get(code or "", advice)
        error = InstallError(f"{doing} failed{f' ({code})' if code else ''}; {advice}.", code)
        error.add_note(done.stdout)
        raise error
