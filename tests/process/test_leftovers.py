"""Nothing an agent started outlives its run, and no run outlives its holder."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from shutil import which
from typing import cast

from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Invocation
from pi_subagents.models.event import Started
from pi_subagents.runners import LocalRunner, Mechanism
from pi_subagents.store import ProcessSlots, is_held, load_run
from pi_subagents.testing.agent import dies_of, ignores_sigterm, leaves_behind, touches, writes
from tests.kit.processes import is_alive
from tests.kit.waiting import PATIENCE_S, until, until_async
from tests.process.attacks import End, alive, start
from tests.process.kit import DONE, FOREVER, READY, Stage, until_ready

FAMILY = [
    leaves_behind(),
    leaves_behind(daemon=True),
    leaves_behind(daemon=True, holds_output=False),
    leaves_behind(daemon=True, stubborn=False),
]

DIES_AT_ONCE = """
import os, signal, subprocess, sys, time
from pi_subagents.runners.containment import contain

os.environ["HOLDER"] = str(os.getpid())
containment = contain(sys.argv[1])
argv = containment.wrap(["sh", "-c", "trap '' TERM; sleep 300"])
subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True, pass_fds=containment.inherited_fds)
time.sleep(float(sys.argv[2]))
os.kill(os.getpid(), signal.SIGKILL)
"""

FORKS = """
import asyncio, os, sys, time
from pi_subagents import Task
from pi_subagents.models.event import Output
from pi_subagents.delegation.delegation import Delegation

def observer(state, events):
    if any(isinstance(event, Output) for event in events):
        if os.fork() == 0:
            os.environ.clear()
            open(sys.argv[1], "w").close()
            time.sleep(600)
            os._exit(0)

async def main():
    prompt = '[["ignore_sigterm"], ["write", "ready\\\\n", 1], ["pause", 300]]'
    await Delegation([Task("task", prompt)], observer=observer)

asyncio.run(main())
"""


async def test_what_a_finished_agent_leaves_behind_goes_with_it_and_does_not_delay_the_end(stage: Stage) -> None:
    result = await asyncio.wait_for(stage.run(*FAMILY, DONE), PATIENCE_S)
    assert result.status == "completed"
    assert stage.processes() == []


def test_killing_the_holder_takes_the_agent_and_all_its_descendants_with_it(stage: Stage, tmp_path: Path) -> None:
    holder = stage.holder(ignores_sigterm(), *FAMILY, touches(tmp_path / "ready"), FOREVER)
    try:
        until((tmp_path / "ready").exists)
        (run_dir,) = stage.run_dirs
        assert len(stage.processes()) >= 6, "agent, wrapper, four grandchildren"
        assert is_held(run_dir)
    finally:
        holder.kill()
        holder.wait()
    until(lambda: not stage.processes())
    assert not is_held(run_dir)
    state = load_run(run_dir)
    assert (state.status, state.reason) == ("failed", "lost")


def test_a_holder_that_dies_while_the_agent_starts_leaves_nothing_either(stage: Stage) -> None:
    holders = [
        stage.start([sys.executable, "-c", DIES_AT_ONCE, stage.containment, str(delay_s)])
        for delay_s in (0, 0, 0.001, 0.002, 0.004)
    ]
    assert {holder.wait(PATIENCE_S) for holder in holders} == {-signal.SIGKILL}
    until(lambda: not stage.processes())


def test_a_holder_that_is_dead_before_a_death_signal_is_set_leaves_nothing_either(stage: Stage, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "setpriv").write_text(f'#!/bin/sh\nwhile [ -e /proc/$HOLDER ]; do :; done\nexec {which("setpriv")} "$@"\n')
    (slow / "setpriv").chmod(0o755)
    path = f"{slow}:{os.environ['PATH']}"
    holder = stage.start([sys.executable, "-c", DIES_AT_ONCE, stage.containment, "0"], {"PATH": path})
    assert holder.wait(PATIENCE_S) == -signal.SIGKILL
    until(lambda: not stage.processes())


async def test_without_containment_a_grandchild_that_keeps_stdout_open_delays_the_end_by_a_second(
    tmp_path: Path, plain_stage: Stage
) -> None:
    stage = Stage(tmp_path / "inner", mark=plain_stage.mark, containment="none")  # whose fixture tidies up
    started = time.monotonic()
    result = await asyncio.wait_for(stage.run(leaves_behind(), DONE, harness="pi-json"), PATIENCE_S)
    assert (result.status, result.output) == ("completed", "Done.")
    assert time.monotonic() - started >= 1


def test_a_forked_copy_of_the_holder_keeps_neither_the_agent_nor_the_lease(stage: Stage, tmp_path: Path) -> None:
    holder = stage.start([sys.executable, "-c", FORKS, str(tmp_path / "forked")])
    try:
        until((tmp_path / "forked").exists)
        (run_dir,) = stage.run_dirs
        assert is_held(run_dir)
    finally:
        holder.kill()
        holder.wait()
    until(lambda: not is_held(run_dir))
    # The forked copy itself is still there and still carries the mark.
    until(lambda: len(stage.processes()) == 1)


async def test_a_wrapper_that_is_killed_takes_its_agent_with_it_and_the_run_says_so(stage: Stage) -> None:
    delegation = stage.delegation([ignores_sigterm(), READY, FOREVER])
    work = await until_ready(delegation)
    started = [event for event in stage.events() if isinstance(event, Started)]
    os.kill(started[0].pid, signal.SIGKILL)
    await asyncio.wait_for(work, PATIENCE_S)
    (result,) = delegation.results
    assert (result.status, result.reason, result.exit_code) == ("failed", "exit", 137)
    assert (result.error or "").startswith("Sub-agent exited with code 137 before it finished")
    until(lambda: not stage.processes())  # what was in a namespace may take a moment longer than its wrapper
    assert fold(RunState(), stage.events()).status == "failed"


async def test_an_agent_that_dies_of_a_signal_is_reported_with_it(stage: Stage) -> None:
    result = await stage.run(writes(b"ready\n"), dies_of(signal.SIGKILL))
    assert (result.status, result.exit_code) == ("failed", 137)


LARGE = "import os, time; memory = bytearray(400_000_000); os.write(2, b'ready'); os.closerange(0, 3); time.sleep(900)"
"""What takes the kernel a while to end, and holds no pipe meanwhile."""


class Witness(End):
    """Looks, at the moment in which the end is told, who is still there."""

    agents: tuple[int, ...] = ()
    left: tuple[int, ...] = ()

    def on_replaced(self, pid: int, containment: str) -> None: ...

    def on_exit(self, exit_code: int) -> None:
        self.left = tuple(pid for pid in self.agents if is_alive(pid))
        super().on_exit(exit_code)


async def test_the_end_of_what_is_killed_is_told_when_nobody_is_left(stage: Stage) -> None:
    mechanism = cast("Mechanism", stage.containment)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the number alone
    number = str(int.from_bytes(os.urandom(6)))
    argv = [sys.executable, "-c", LARGE, f"900.{number}"]
    witness = Witness()
    start(["sh", "-c", '"$@" & exec sleep 900 >&- 2>&-', "sh", *argv], mechanism, witness)
    await until_async(lambda: witness.said, "it has its memory")
    witness.agents = tuple(alive(number))
    for _ in range(3):
        witness.process.kill()
    async with asyncio.timeout(PATIENCE_S):
        assert await witness.code == 137
    assert witness.agents
    assert witness.left == ()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


async def test_an_agent_whose_run_broke_off_is_ended_and_its_slot_is_free(tmp_path: Path) -> None:
    end = End()
    invocation = Invocation(("sh", "-c", "sleep 1000"), dict(os.environ), tmp_path, b"", interactive=True)
    slots = ProcessSlots(tmp_path / "slots", 1)
    async with LocalRunner("none", slots).slot(invocation) as slot:
        process = slot.start(end)
    assert slots.take() is None
    process.release(reusable=False)
    await asyncio.wait_for(end.code, PATIENCE_S)
    assert slots.take() is not None
