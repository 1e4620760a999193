"""The keeper: a process that owns one detached run from start to end, with the same supervisor as any other run.

Started with three inherited descriptors: the run's lease, the sealed order, and its slot among the background runs of
this machine. It has a session of its own and no terminal: what happens to whoever started it does not reach it.
The order is everything it needs to see the run through, handed over in memory because it holds secrets.
"""

from __future__ import annotations

import marshal
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pi_subagents.delegation.program_facts import doubt_namespace
from pi_subagents.encoding import converted
from pi_subagents.harness import Approvals, Invocation, harness_named
from pi_subagents.models import Status
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.runners import LocalRunner, Mechanism
from pi_subagents.runs.live import serving
from pi_subagents.store import Index, Lease, Pace, ProcessSlots, adopt
from pi_subagents.supervisor import Limits, Observer, Pacing, Supervisor


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
    brief: Mapping[str, Any] = {}
    approvals: Approvals = "deny"
    placeholders: tuple[str, ...] = ()
    advice: str = ""

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
            brief=self.brief,
            approvals=self.approvals,
            placeholders=self.placeholders,
            advice=self.advice,
        )

    @property
    def limits(self) -> Limits:
        return Limits(self.timeout_s, self.extension_s, self.loop_count, self.journal_bytes)


@contextmanager
def sealed(order: Order) -> Iterator[int]:
    """An order where only who holds this descriptor can read it."""
    with os.fdopen(os.memfd_create("order", os.MFD_CLOEXEC), "wb") as file:
        # Unlike JSON and its like, this also takes what the environment may hold on Linux: names that are no text.
        marshal.dump(msgspec.to_builtins(order), file)
        file.flush()
        yield file.fileno()


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
        return converted(marshal.load(file), Order)


def main() -> None:
    """Keep the run whose descriptors are named on the command line."""
    lease, order, _slot = (int(word) for word in sys.argv[1:4])
    for fd in (lease, order, _slot):
        if fd >= 0:
            os.set_inheritable(fd, False)
    try:
        run_until_signalled(_keep(unseal(order), Lease(lease)))
    except Interrupted as interrupted:
        sys.exit(interrupted.exit_code)


async def _keep(order: Order, lease: Lease) -> None:
    await see_through(order, supervise(order, lease))


def supervise(order: Order, lease: Lease, observer: Observer | None = None) -> Supervisor:
    """Take a run over from whoever held it until now; raises StoreError."""
    record, state = adopt(Path(order.run_dir), lease)
    agent_dir, harness = Path(order.agent_dir), harness_named(order.harness)
    return Supervisor(
        record,
        state,
        order.invocation,
        harness,
        LocalRunner(order.mechanism, ProcessSlots.of(agent_dir, order.max_processes)),
        order.limits,
        Pacing(Pace(agent_dir), harness.default_provider(Path(order.cwd), agent_dir)),
        problem=order.problem,
        observer=observer,
    )


async def see_through(order: Order, supervisor: Supervisor) -> None:
    """See a run through and take note of its end."""
    run_dir = Path(order.run_dir)
    # It may have been asked to stop while it waited for its turn.
    supervisor.heed_request()
    async with serving({run_dir: supervisor}):
        await supervisor.run()
    agent_dir = Path(order.agent_dir)
    if supervisor.state.status is Status.FAILED:
        doubt_namespace(agent_dir)
    Index(agent_dir).record(Path(order.project), {run_dir: supervisor.state})


if __name__ == "__main__":
    main()
