"""How many may be at work at once on this machine: so many files, each locked by who works.

A lock is freed by the kernel when its holder dies, so a place can never be lost.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from pi_subagents.store.lease import Lease
from pi_subagents.store.sockets import new_address

_GATE_S = 3.0
"""Nobody is in the gate for longer than it takes to start a process, unless it was stopped."""
_POLL_S = 0.005


def wait_for_file(path: Path, wait_s: float) -> Lease | None:
    """Lock a file; None if somebody else has it for longer than that."""
    deadline = time.monotonic() + wait_s
    while (lease := Lease.of_file(path)) is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return lease


class Places:
    """So many places in a directory."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.limit = limit
        self._folder = folder
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @classmethod
    def for_processes(cls, agent_dir: Path, limit: int) -> Places | None:
        """The places for agent processes of everybody with this agent directory; None where they cannot be kept."""
        try:
            return cls(agent_dir / "subagents" / "processes", limit)
        except OSError:
            return None

    def take(self) -> Lease | None:
        """A free place, or None."""
        for number in range(self.limit):
            if (lease := Lease.of_file(self._folder / str(number))) is not None:
                return lease
        return None


class Slots(Places):
    """The places of background runs, and the gate through which launchers go one at a time."""

    def __init__(self, agent_dir: Path, limit: int) -> None:
        super().__init__(agent_dir / "subagents" / "slots", limit)
        self.agent_dir = agent_dir

    def gate(self) -> Lease | None:
        """Wait for the gate; None if whoever is in it does not come out, because it was stopped there."""
        return wait_for_file(self._folder / "gate", _GATE_S)

    def try_gate(self) -> Lease | None:
        """The gate, if nobody is in it."""
        return Lease.of_file(self._folder / "gate")

    @property
    def door(self) -> Path | None:
        """Where the porter is reached, if there is one.

        A socket's path must be short, so it is elsewhere, and where may differ between launchers: a file here tells.
        """
        with suppress(OSError):
            return Path((self._folder / "door").read_text())
        return None

    def move_door(self) -> Path:
        """A new address for a porter, so that one who is thought to be dead and is not keeps out of its way."""
        if (old := self.door) is not None:
            old.unlink(missing_ok=True)
        path = new_address("porter")
        (self._folder / "door").write_text(str(path))
        return path

    def close_door(self, path: Path) -> None:
        """Take away the door of a porter who leaves."""
        path.unlink(missing_ok=True)
        if self.door == path:
            (self._folder / "door").unlink(missing_ok=True)
