"""Addresses of our Unix sockets: new ones, and those of processes that were killed, removed by whoever finds them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from heapq import nsmallest
from pathlib import Path

from pi_subagents.paths import runtime_dir

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
