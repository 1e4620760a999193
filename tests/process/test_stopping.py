"""Stopping real processes: the whole tree goes, in bounded time, and the run says why."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models.event import Output, Started, Stderr
from pi_subagents.testing import prints
from pi_subagents.testing.agent import (
    answers_sigterm,
    complains,
    dies_of,
    ignores_sigterm,
    leaves_behind,
    pauses,
    waits_for,
    writes,
)
from pi_subagents.testing.records import AGENT_START, answer, assistant
from tests.kit.waiting import PATIENCE_S, until_async
from tests.process.kit import Stage

COMPLAINT = complains("from the agent\n")
READY = writes(b"ready\n")
FOREVER = pauses(300)
STUBBORN = [ignores_sigterm(), leaves_behind(), leaves_behind(daemon=True), READY, FOREVER]


async def until_ready(delegation: Delegation, count: int = 1) -> asyncio.Task[None]:
    """Start a delegation and wait until `count` of its agents have said so; returns the rest of its work."""
    ready = asyncio.Semaphore(0)

    async def follow() -> None:
        async for update in delegation:
            if isinstance(update.event, Output) and update.event.text == "ready":
                ready.release()

    work = asyncio.ensure_future(follow())
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(count):
            await ready.acquire()
    return work


async def test_a_tree_that_ignores_sigterm_is_given_five_seconds_and_then_killed(stage: Stage) -> None:
    delegation = stage.delegation(STUBBORN, STUBBORN)
    work = await until_ready(delegation, count=2)
    assert len(stage.processes()) >= 6
    started = time.monotonic()
    delegation.stop()
    async with asyncio.timeout(PATIENCE_S):
        await work
    assert time.monotonic() - started > 4.5, "it was not given the time to end by itself"
    assert stage.processes() == []
    assert [(result.status, result.error) for result in delegation.results] == [("aborted", "Cancelled")] * 2


@pytest.mark.usefixtures("unhurried")
async def test_an_agent_that_heeds_sigterm_may_have_a_last_word(stage: Stage) -> None:
    delegation = stage.delegation([answers_sigterm(assistant("I was interrupted."), 3), READY, FOREVER])
    work = await until_ready(delegation)
    delegation.stop()
    async with asyncio.timeout(PATIENCE_S):
        await work
    (result,) = delegation.results
    assert (result.status, result.output, result.exit_code) == ("aborted", "I was interrupted.", 3)
    assert stage.processes() == []


async def stop(stage: Stage) -> None:
    delegation = stage.delegation([COMPLAINT, READY, FOREVER])
    work = await until_ready(delegation)
    delegation.stop()
    await work


async def let_time_out(stage: Stage) -> None:
    await stage.run(COMPLAINT, FOREVER, timeout=1)


async def cancel_the_caller(stage: Stage) -> None:
    delegation = stage.delegation([COMPLAINT, READY, FOREVER])
    await until_ready(delegation)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(delegation, 0.01)


async def let_it_be_killed(stage: Stage) -> None:
    await stage.run(COMPLAINT, dies_of(signal.SIGKILL))


@pytest.mark.parametrize("end", [stop, let_time_out, cancel_the_caller, let_it_be_killed])
async def test_only_the_agent_itself_is_heard_on_stderr(end: Callable[[Stage], Awaitable[None]], stage: Stage) -> None:
    await end(stage)
    (run_dir,) = stage.run_dirs
    assert set((run_dir / "stderr.log").read_text().splitlines()) <= {"from the agent"}
    assert {event.text.strip() for event in stage.events() if isinstance(event, Stderr)} <= {"from the agent"}


async def test_stopping_one_task_leaves_the_others_alone(stage: Stage, tmp_path: Path) -> None:
    delegation = stage.delegation([READY, FOREVER], [READY, waits_for(tmp_path / "go on"), prints(*answer("Done."))])
    work = await until_ready(delegation, count=2)
    delegation.stop(delegation.runs[0].state.session_id)
    await until_async(lambda: delegation.runs[0].state.status.is_terminal)
    (tmp_path / "go on").touch()
    async with asyncio.timeout(PATIENCE_S):
        await work
    assert [result.status for result in delegation.results] == ["aborted", "completed"]


async def test_a_cancelled_caller_is_answered_when_no_agent_is_left(stage: Stage) -> None:
    delegation = stage.delegation([leaves_behind(daemon=True), READY, FOREVER])
    await until_ready(delegation)
    waiting = asyncio.ensure_future(asyncio.wait_for(delegation, 0.01))
    with pytest.raises(asyncio.TimeoutError):
        await waiting
    assert stage.processes() == []
    assert [result.status for result in delegation.results] == ["aborted"]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("delay_ms", [0, 1, 5, 20, 100, 250])
async def test_a_cancel_soon_after_the_start_is_never_completed_and_needs_no_kill(
    delay_ms: int, stage: Stage, tmp_path: Path
) -> None:
    # It finishes at the very moment of the cancel, if that does not reach it sooner.
    finishing = [prints(AGENT_START), waits_for(tmp_path / "cancelled"), prints(*answer("Done."))]
    delegation = stage.delegation(finishing, [prints(AGENT_START), FOREVER])
    started = asyncio.Event()

    async def follow() -> None:
        async for update in delegation:
            if isinstance(update.event, Started):
                started.set()

    work = asyncio.ensure_future(follow())
    await asyncio.wait_for(started.wait(), PATIENCE_S)
    await asyncio.sleep(delay_ms / 1000)
    delegation.stop()
    (tmp_path / "cancelled").touch()
    async with asyncio.timeout(PATIENCE_S):
        await work
    assert [result.status for result in delegation.results] == ["aborted", "aborted"]
    assert stage.processes() == []
