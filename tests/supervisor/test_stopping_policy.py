"""The steps with which a process is stopped, each only after the grace of the one before."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi_subagents.harness import Invocation
from pi_subagents.runners import Process, Stream
from pi_subagents.supervisor.limits import ABORT_GRACE_S, REAP_S, STOP_GRACE_S, Stopping, Timers
from pi_subagents.testing import FakeProcess, FakeRunner, run_on_virtual_clock


class Nobody:
    """Does not listen."""

    def on_output(self, stream: Stream, data: bytes) -> None: ...

    def on_exit(self, exit_code: int) -> None: ...


async def works_for_ever(_process: FakeProcess) -> int:
    await asyncio.sleep(10_000)
    return 0


def steps(request: bytes) -> tuple[FakeProcess, list[float]]:
    """A process that ignores everything, and when it was given up."""

    async def main() -> tuple[FakeProcess, list[float]]:
        given_up: list[float] = []

        def give_up(_process: Process) -> None:
            given_up.append(asyncio.get_running_loop().time())

        stopping = Stopping(request, Timers(), give_up)
        runner = FakeRunner(works_for_ever, ignores=("terminate", "kill"))
        async with runner.slot(Invocation(("pi",), {}, Path("/"), b"")) as slot:
            process = slot.start(Nobody())
        stopping.begin(process)
        stopping.begin(process)  # whoever asks again changes nothing
        await asyncio.sleep(100)
        return process, given_up

    return run_on_virtual_clock(main())


def test_a_process_that_cannot_be_asked_is_signalled_at_once_then_killed_then_given_up() -> None:
    process, given_up = steps(b"")
    assert process.signals == [("terminate", 0), ("kill", STOP_GRACE_S)]
    assert (process.heard, given_up) == ([], [STOP_GRACE_S + REAP_S])


def test_a_process_that_can_be_asked_is_asked_first_and_hears_nothing_more() -> None:
    process, given_up = steps(b"abort")
    assert process.heard == [b"abort"]
    assert process.input_closed.is_set()
    assert process.signals == [("terminate", ABORT_GRACE_S), ("kill", ABORT_GRACE_S + STOP_GRACE_S)]
    assert given_up == [ABORT_GRACE_S + STOP_GRACE_S + REAP_S]
