"""The keeper: a process that owns one detached run from start to end, with the same supervisor as any other run.

Started with three inherited descriptors: the run's lease, the sealed order, and its slot among the background runs of
this machine. It has a session of its own and no terminal: what happens to whoever started it does not reach it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pi_subagents.background.orders import Order, unseal
from pi_subagents.harness import harness_named
from pi_subagents.processes.interrupts import Interrupted, run_until_signalled
from pi_subagents.runners import LocalRunner
from pi_subagents.runs.control import serving
from pi_subagents.store import Index, Lease, Pace, Slots, adopt
from pi_subagents.supervisor import Observer, Pacing, Supervisor


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
        LocalRunner(order.mechanism, Slots.for_processes(agent_dir, order.max_processes)),
        order.limits,
        problem=order.problem,
        pacing=Pacing(Pace(agent_dir), harness.default_provider(Path(order.cwd), agent_dir)),
        observer=observer,
    )


async def see_through(order: Order, supervisor: Supervisor) -> None:
    """See a run through and take note of its end."""
    run_dir = Path(order.run_dir)
    # It may have been asked to stop while it waited for its turn.
    supervisor.heed_request()
    async with serving({run_dir: supervisor}):
        await supervisor.run()
    Index(Path(order.agent_dir)).record(Path(order.project), {run_dir: supervisor.state})


if __name__ == "__main__":
    main()
