"""What a keeper is told: everything it needs to see a run through, handed over in memory because it holds secrets."""

from __future__ import annotations

import marshal
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pi_subagents.harness import Invocation
from pi_subagents.runners import Mechanism
from pi_subagents.store import Lease
from pi_subagents.supervisor import Limits


class Order(msgspec.Struct, frozen=True):
    """One run to keep. Files of the invocation are not part of it: they are in the run directory already."""

    run_dir: str
    project: str
    agent_dir: str
    harness: str
    mechanism: Mechanism
    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: str
    stdin: bytes
    interactive: bool
    temporary: tuple[str, ...]
    written_by_agent: tuple[str, ...]
    secrets: frozenset[str]
    timeout_s: float | None
    extension_s: float
    loop_count: int
    journal_bytes: int
    max_processes: int
    problem: str | None = None

    @property
    def invocation(self) -> Invocation:
        return Invocation(
            argv=self.argv,
            environ=self.environ,
            cwd=Path(self.cwd),
            stdin=self.stdin,
            interactive=self.interactive,
            temporary=self.temporary,
            written_by_agent=self.written_by_agent,
            secrets=self.secrets,
        )

    @property
    def limits(self) -> Limits:
        return Limits(self.timeout_s, self.extension_s, self.loop_count, self.journal_bytes)


def seal(order: Order) -> int:
    """Put an order where only who holds the descriptor can read it; returns the descriptor."""
    fd = os.memfd_create("order", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as file:
        # Unlike JSON and its like, this also takes what the environment may hold on Linux: names that are no text.
        marshal.dump(msgspec.to_builtins(order), file)
    return fd


def receive(connection: socket.socket) -> tuple[Lease, Order]:
    """A run that is handed over at a socket: its lease, and what is to be done with it."""
    _word, fds, _flags, _address = socket.recv_fds(connection, 1, 2)
    for fd in fds:
        os.set_inheritable(fd, False)
    lease, sealed = fds
    return Lease(lease), unseal(sealed)


def unseal(fd: int) -> Order:
    """Read an order and let go of it."""
    with os.fdopen(fd, "rb") as file:
        file.seek(0)
        return msgspec.convert(marshal.load(file), Order)
