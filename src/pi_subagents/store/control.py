"""Small files by which processes tell each other something about a run; only in records of ours."""

from __future__ import annotations

import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from heapq import nsmallest
from pathlib import Path

from pi_subagents.errors import StoreError
from pi_subagents.files import Directory
from pi_subagents.paths import runtime_dir
from pi_subagents.store.record import CONTROL_FILE, STOP_FILE, open_run, our_run

_SUFFIX = ".sock"
_MIN_AGE_S = 60.0
"""Younger ones may not listen yet, and some take whoever connects for the one guest they wait for."""
_MAX_PROBED = 32


def new_address(name: str) -> Path:
    """Where a new socket may listen; the oldest dead ones beside it are removed on the way. Raises OSError."""
    folder = runtime_dir()
    for address in nsmallest(_MAX_PROBED, _addresses(folder), key=_made_at):
        if time.time() - _made_at(address) > _MIN_AGE_S:
            remove_if_dead(address)
    return folder / f"{name}-{os.urandom(8).hex()}{_SUFFIX}"


def remove_if_dead(address: Path) -> bool:
    """Remove a socket of ours that nobody listens at; whether it was one."""
    with suppress(OSError):
        if address.parent == runtime_dir() and address.suffix == _SUFFIX and _is_dead(address):
            address.unlink(missing_ok=True)
            return True
    return False


def _is_dead(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(address))
        except ConnectionRefusedError:
            return address.is_socket()
        except OSError:  # it is busy, or gone by now
            return False
    return False


def _addresses(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.suffix == _SUFFIX)


def _made_at(address: Path) -> float:
    with suppress(OSError):
        return address.lstat().st_mtime
    return time.time()


_MAX_BYTES = 64 * 1024


def request_stop(run_dir: Path, message: str) -> None:
    """Ask the holder of a run to stop it; raises StoreError."""
    try:
        with our_run(run_dir) as run:
            run.replace(STOP_FILE, message.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"cannot ask the run in {run_dir} to stop: {error.strerror}") from error


def stop_request(run_dir: Path) -> str | None:
    """What was asked for, if anything."""
    with suppress(OSError), open_run(run_dir) as run:
        return run.read(STOP_FILE, _MAX_BYTES).decode("utf-8", "replace")
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
        return run.read(CONTROL_FILE, _MAX_BYTES).decode("utf-8", "surrogateescape")
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
