"""Stopping real processes: the whole tree goes, in bounded time, and the run says why."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pi_subagents.models.event import Started, Stderr
from pi_subagents.store import request_stop
from pi_subagents.supervisor import stopping, supervisor
from pi_subagents.testing import prints
from pi_subagents.testing.agent import (
    answers_sigterm,
    complains,
    dies_of,
    ignores_sigterm,
    leaves_behind,
    touches,
    waits_for,
)
from pi_subagents.testing.records import AGENT_START, assistant, tool_call
from tests.kit.waiting import PATIENCE_S, until_async
from tests.process.kit import DONE, FOREVER, READY, Stage, make_stage, until_ready

GRACE_S = 0.5
LOOPED = "Loop detected: sub-agent is repeating the same tool calls"
COMPLAINT = complains("from the agent\n")
STUBBORN = [ignores_sigterm(), leaves_behind(), leaves_behind(daemon=True), READY, FOREVER]


async def test_a_tree_that_ignores_sigterm_is_given_five_seconds_and_then_killed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stopping.STOP_GRACE_S == 5
    monkeypatch.setattr(stopping, "STOP_GRACE_S", GRACE_S)
    delegation = stage.delegation(STUBBORN, STUBBORN, harness="pi-json")
    work = await until_ready(delegation, count=2)
    assert len(stage.processes()) >= 6
    started = time.monotonic()
    delegation.stop()
    await asyncio.wait_for(work, PATIENCE_S)
    assert time.monotonic() - started >= GRACE_S, "it was not given the time to end by itself"
    assert stage.processes() == []
    assert [(result.status, result.error) for result in delegation.results] == [("aborted", "Cancelled")] * 2


@pytest.mark.usefixtures("unhurried")
async def test_an_agent_that_heeds_sigterm_may_have_a_last_word(stage: Stage) -> None:
    delegation = stage.delegation(
        [answers_sigterm(assistant("I was interrupted."), 3), READY, FOREVER], harness="pi-json"
    )
    work = await until_ready(delegation)
    delegation.stop()
    await asyncio.wait_for(work, PATIENCE_S)
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
    delegation = stage.delegation([READY, FOREVER], [READY, waits_for(tmp_path / "go on"), DONE])
    work = await until_ready(delegation, count=2)
    delegation.stop(delegation.runs[0].state.session_id)
    await until_async(lambda: delegation.runs[0].state.status.is_terminal)
    (tmp_path / "go on").touch()
    await asyncio.wait_for(work, PATIENCE_S)
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
    finishing = [prints(AGENT_START), waits_for(tmp_path / "cancelled"), DONE]
    delegation = stage.delegation(finishing, [prints(AGENT_START), FOREVER])
    work = await until_ready(delegation, sign=Started)
    await asyncio.sleep(delay_ms / 1000)
    delegation.stop()
    (tmp_path / "cancelled").touch()
    await asyncio.wait_for(work, PATIENCE_S)
    assert [result.status for result in delegation.results] == ["aborted", "aborted"]
    assert stage.processes() == []


async def test_a_run_that_waits_for_its_turn_ends_at_once_and_the_others_go_on(
    plain_stage: Stage, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    scripts = [[touches(tmp_path / str(n)), waits_for(gate), DONE] for n in range(5)]
    delegation = plain_stage.delegation(*scripts)
    work = asyncio.ensure_future(delegation)
    await until_async(lambda: all((tmp_path / str(n)).exists() for n in range(4)))
    waiting = delegation.runs[4]
    request_stop(waiting.run_dir, "Not needed any more")
    await until_async(lambda: waiting.state.status.is_terminal)
    assert [run.state.status for run in delegation.runs[:4]] == ["running"] * 4
    gate.touch()
    results = await work
    assert [result.status for result in results] == ["completed"] * 4 + ["aborted"]
    assert results[4].error == "Not needed any more"
    assert not (tmp_path / "4").exists()


# --- endings, once each with a real process; every case of them is in tests/supervisor ---------------------------


async def test_exit_zero_without_settling_is_no_success(stage: Stage) -> None:
    result = await stage.run(prints(AGENT_START, assistant("Half of it")))
    assert (result.status, result.reason, result.output) == ("failed", "exit", "Half of it")
    assert result.error == "Sub-agent exited with code 0 before it finished"


async def test_an_agent_that_settled_and_stays_is_ended_after_two_seconds_and_has_completed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert supervisor.SETTLE_GRACE_S == 2
    monkeypatch.setattr(supervisor, "SETTLE_GRACE_S", GRACE_S)
    started = time.monotonic()
    result = await stage.run(DONE, FOREVER, harness="pi-json")
    assert (result.status, result.output) == ("completed", "Done.")
    assert time.monotonic() - started >= GRACE_S
    assert stage.processes() == []


async def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, "guard", extend_timeout_debounce=0)
    started = time.monotonic()
    result = await stage.run(prints(AGENT_START), FOREVER, timeout=1)
    assert time.monotonic() - started >= 1
    assert (result.status, result.reason) == ("failed", "timeout")
    assert result.error == "Timed out after 1s. Consider resuming with a longer timeout."


@pytest.mark.parametrize(("count", "error"), [(5, LOOPED), (0, None)])
async def test_a_loop_is_ended_and_no_loop_detection_lets_it_run(count: int, error: str | None, tmp_path: Path) -> None:
    stage = make_stage(tmp_path, "guard", looping_tool_count=count)
    same = prints(*[assistant("", tool_call("bash", command="ls"))] * 6)
    result = await stage.run(same, *([FOREVER] if count else [DONE]))
    assert (result.error, result.ok) == (error, error is None)
