"""An agent process that waits for its next task, as its host tells everybody else."""

from __future__ import annotations

from typing import Literal

import msgspec

HostKind = Literal["pi", "mcp", "run"]
"""Which program keeps it: the bridge of `pi`, an MCP server, or one that ends with its tasks."""


class IdleAgent(msgspec.Struct, frozen=True):
    """One process with everything below it."""

    host: HostKind
    host_pid: int
    pid: int
    since: int
    """When its last task was done (ms)."""
    memory_bytes: int
