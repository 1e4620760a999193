"""One change of one file: found out first, shown or done afterwards."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pi_subagents.errors import ClientConfigError
from pi_subagents.text.harmless import clean
from pi_subagents.trees import Tree

Status = Literal["created", "added", "updated", "unchanged", "deleted", "restored", "removed", "absent"]

_CONTEXT_LINES = 1
"""Few, because what stands around our entry can be somebody's key."""


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
