"""Configuration files of other programs: one installation at a time, and never without a way back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_subagents.paths import runtime_dir
from pi_subagents.store.lease import Lease
from pi_subagents.trees import Tree


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold off other installations of this user."""
    lease = Lease.of_file(runtime_dir() / "installing", wait=True)
    assert lease is not None
    try:
        yield
    finally:
        lease.release()


def backups(path: Path, tree: Tree) -> dict[Path, bytes]:
    """The backups of a file with their content, oldest first; raises OSError for what only has such a name."""
    names = [_backup(path, number) for number in range(1, _free_number(path))]
    return {name: content for name in names if (content := tree.read(name)) is not None}


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
