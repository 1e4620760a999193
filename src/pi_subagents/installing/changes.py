"""Changes of other programs' files: found out first, shown or done afterwards, and never without a way back."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pi_subagents.errors import ClientConfigError, InstallError
from pi_subagents.paths import runtime_dir
from pi_subagents.store.slots import wait_for_file
from pi_subagents.text.harmless import clean
from pi_subagents.trees import Tree

Status = Literal["created", "added", "updated", "unchanged", "deleted", "restored", "removed", "absent"]

_CONTEXT_LINES = 1
"""Few, because what stands around our entry can be somebody's key."""
PATIENCE_S = 10.0
"""Nobody needs longer to change a few files, unless it was stopped."""
_MAX_BACKUPS = 20


@dataclass(frozen=True, slots=True)
class Change:
    """What a file holds and what it shall hold; None where there is no file."""

    tree: Tree
    path: Path
    status: Status
    before: bytes | None
    after: bytes | None
    backup: Path | None = None
    """The copy of the file that is made first."""
    obsolete: tuple[Path, ...] = ()
    """Copies that were made earlier and are needed no more."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = (
            (content or b"").decode(errors="replace").splitlines(keepends=True) for content in (self.before, self.after)
        )
        was, becomes = (
            "/dev/null" if content is None else clean(str(self.path)) for content in (self.before, self.after)
        )
        lines = difflib.unified_diff(old, new, was, becomes, n=_CONTEXT_LINES)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def apply(self, *, is_private: bool) -> None:
        """Write what shall be; raises ClientConfigError if the file is no longer as it was, and OSError."""
        if not self.is_needed:
            return
        if self.tree.read(self.path) != self.before:
            raise ClientConfigError(f"Something else changed {self.path} at the same time; run this again.")
        like = self.tree.status(self.path)
        if self.backup is not None and self.before is not None:
            self.tree.write(self.backup, self.before, like=like)
        if self.after is None:
            self.tree.delete(self.path)
        else:
            mode, folder_mode = (0o600, 0o700) if is_private else (0o666, 0o777)
            self.tree.write(self.path, self.after, mode=mode, folder_mode=folder_mode, like=like)
        for backup in self.obsolete:
            self.tree.delete(backup)


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
