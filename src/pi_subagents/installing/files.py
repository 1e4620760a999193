"""Configuration files of other programs: one installation at a time, and never without a way back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_subagents.errors import InstallError
from pi_subagents.paths import runtime_dir
from pi_subagents.store.slots import wait_for_file
from pi_subagents.trees import Tree

PATIENCE_S = 10.0
"""Nobody needs longer to change a few files, unless it was stopped."""
_MAX_BACKUPS = 20


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold off other installations of this user; raises InstallError if one of them does not end."""
    path = runtime_dir() / "installing"
    lease = wait_for_file(path, PATIENCE_S)
    if lease is None:
        raise InstallError(
            f"Another installation has held {path} for {PATIENCE_S:g} seconds; "
            f"wait for it, or find it with `fuser {path}` and stop it, then run this again."
        )
    try:
        yield
    finally:
        lease.release()


def backups(path: Path, tree: Tree) -> dict[Path, bytes]:
    """The oldest backups of a file with their content, oldest first; raises OSError for what only has such a name.

    Together they are no larger than one file may be: the names can be a stranger's, and any number of them.
    """
    found: dict[Path, bytes] = {}
    room = tree.max_bytes
    for number in range(1, min(_free_number(path), _MAX_BACKUPS + 1)):
        content = tree.read(_backup(path, number)) or b""
        room -= len(content)
        if room < 0:
            break
        found[_backup(path, number)] = content
    return found


def next_backup(path: Path) -> Path:
    """A name for a backup that no file has."""
    return _backup(path, _free_number(path))


def _free_number(path: Path) -> int:
    number = 1
    while os.path.lexists(_backup(path, number)):
        number += 1
    return number


def _backup(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.bak" if number == 1 else f"{path.name}.bak{number}")
