"""Files for kept agents that are in no run's directory: such a process must not know of any run but the present one.

They are the instructions that it reads whenever it begins a fresh conversation, and another name for the file of its
first one, which tells nothing.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from pi_subagents.harness.contract import Renewal
from pi_subagents.paths import runtime_dir
from pi_subagents.store import Lease

_PREFIX = "instructions-"
_NEW = "new-"
_NEW_FOR_S = 60.0
"""A folder gets its name at once; one that has not was left by a program that was killed."""
_LOCK = "lease"


class Instructions:
    """A private folder of this program with a folder in it for each kind of agent; made when it is first needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._lease: Lease | None = None
        self._numbers: dict[str, int] = {}

    def folder_for(self, renewal: Renewal) -> Path:
        """Where the instructions of such agents are; raises OSError."""
        if not renewal.instructions:
            return Path("/")
        number = self._numbers.setdefault(renewal.fingerprint, len(self._numbers))
        folder = self._made() / str(number)
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, content in renewal.instructions.items():
            _write(folder / name, content)
        return folder

    def name_for(self, conversation: Path) -> Path:
        """Another name for a file, until somebody takes it away; raises OSError."""
        name = self._made() / f"{os.urandom(8).hex()}.jsonl"
        name.symlink_to(conversation)
        return name

    def close(self) -> None:
        """Nobody reads them any more; what killed programs left goes with them, since no agent waits by now."""
        if self._folder is not None and self._lease is not None:
            _remove(self._folder)
            self._lease.release()
            _remove_leftovers(self._folder.parent)
            self._folder = None

    def _made(self) -> Path:
        if self._folder is not None and not self._folder.is_dir():  # somebody has tidied up there
            self.close()
        if self._folder is None:
            place = runtime_dir()
            # Locked before it has the name by which others look for folders without an owner.
            name = os.urandom(8).hex()
            new = place / f"{_NEW}{name}"
            new.mkdir(mode=0o700)
            self._lease = Lease.of_file(new / _LOCK)
            self._folder = new.rename(place / f"{_PREFIX}{name}")
        return self._folder


def _write(path: Path, content: bytes) -> None:
    """Write a file that others of its kind may be reading, unless it says the same already; raises OSError."""
    if path.exists() and path.read_bytes() == content:
        return
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)


def _remove_leftovers(place: Path) -> None:
    """Remove the folders of programs that were killed."""
    for folder in place.glob(f"{_NEW}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _NEW_FOR_S:
                _remove(folder)
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            lease = Lease.of_file(folder / _LOCK)
        except OSError:  # it is just being removed
            continue
        if lease is not None:
            _remove(folder)
            lease.release()


def _remove(folder: Path) -> None:
    import shutil  # by now there is time

    shutil.rmtree(folder, ignore_errors=True)
