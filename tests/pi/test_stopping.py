"""Cancelling what runs: the truth about it is recorded, its session stays known, and nothing is left running."""

from __future__ import annotations

import asyncio
import signal

import pytest

from pi_subagents import Reason, RunResult, Status, Task
from pi_subagents.models.event import Delta
from pi_subagents.offline import Call, Hang, Say, Script, Turn
from pi_subagents.store import JOURNAL_FILE, is_held, read_journal
from pi_subagents.tools import ToolContext, call_tool
from tests.kit.waiting import until_async
from tests.pi.stage import WAIT_S, Play, Stage, processes_below

# A grandchild that has left the agent's process group: a signal to the group does not reach it.
SLEEP_FOR_EVER = Call("bash", {"command": "setsid sleep 1000 & echo started; sleep 1000"})


async def until_it_sleeps(stage: Stage, tasks: int = 1) -> None:
    """Wait until the tools of so many agents are at work, each with both of its sleepers."""
    await until_async(lambda: _sleepers(stage) == 2 * tasks)


def _sleepers(stage: Stage) -> int:
    # The shell has the same words in its command line, and so have its children before they become what they run.
    return sum(command.split() == ["sleep", "1000"] for command in processes_below(stage.project))


def cancelled(result: RunResult) -> bool:
    return (result.status, result.reason, result.error) == (Status.ABORTED, Reason.CANCELLED, "Cancelled")


async def test_a_cancelled_call_ends_every_agent_and_says_so_for_each_task(play: Play) -> None:
    stage = play(Script().otherwise([SLEEP_FOR_EVER]))
    context = ToolContext(stage.place, answer_when_cancelled=True)
    tasks = [{"name": f"t{n}", "prompt": "Sleep."} for n in range(6)]
    call = asyncio.create_task(call_tool("delegate_to_subagents", {"tasks": tasks}, context))
    await until_it_sleeps(stage, tasks=4)
    call.cancel()
    answer = await asyncio.wait_for(call, WAIT_S)
    sessions = answer.details["sessionIds"]
    assert answer.text.splitlines() == [f"✗ t{n}: error — Cancelled (session: {sessions[n]})" for n in range(6)]
    assert answer.is_error
    assert answer.details["globalStatus"] == "done"
    assert {window["reason"] for window in answer.details["windows"]} == {"cancelled"}
    assert processes_below(stage.project) == []
    assert len(stage.model.requests) == 4  # the two that waited for their turn were never started


async def test_a_caller_that_wants_no_answer_gets_its_cancellation_once_everything_is_gone(play: Play) -> None:
    stage = play(Script().otherwise([SLEEP_FOR_EVER]))
    call = asyncio.create_task(stage.call({"name": "t", "prompt": "Sleep."}))
    await until_it_sleeps(stage)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, WAIT_S)
    assert processes_below(stage.project) == []
    (run_dir,) = stage.run_dirs
    assert b'"status": "aborted"' in (run_dir / "result.json").read_bytes()
    assert not is_held(run_dir)


async def test_one_task_can_be_stopped_while_the_others_go_on(play: Play) -> None:
    stage = play(Script().when("Sleep", [SLEEP_FOR_EVER]).otherwise([Call("bash", {"command": "sleep 1"}), Say("Ok.")]))
    async with stage.delegation(Task("bad", "Sleep."), Task("good", "Work.")) as delegation:
        work = asyncio.ensure_future(delegation)
        await until_it_sleeps(stage)
        delegation.stop(delegation.runs[0].state.session_id)
        bad, good = await asyncio.wait_for(work, WAIT_S)
    assert cancelled(bad)
    assert bad.session_id
    assert (good.ok, good.output) == (True, "Ok.")
    assert processes_below(stage.project) == []


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.25])
async def test_a_task_that_is_stopped_right_after_its_start_is_never_completed(play: Play, delay_s: float) -> None:
    stage = play(Script().otherwise([Turn("Too quick for you.", delay_s=2 * WAIT_S)]))
    async with stage.delegation(Task("t", "Go.")) as delegation:
        work = asyncio.ensure_future(delegation)
        async for update in delegation:
            if update.state.status is Status.RUNNING:
                break
        await asyncio.sleep(delay_s)
        delegation.stop()
        (result,) = await asyncio.wait_for(work, WAIT_S)
    assert cancelled(result)
    assert processes_below(stage.project) == []


async def test_what_an_agent_had_said_before_it_was_stopped_is_in_its_journal(play: Play) -> None:
    stage = play(Script().otherwise([Hang("The answer is 42, because")]))
    async with stage.delegation(Task("t", "Why?")) as delegation:
        work = asyncio.ensure_future(delegation)
        async for update in delegation:
            if update.state.partial_text:
                break
        delegation.stop()
        (result,) = await asyncio.wait_for(work, WAIT_S)
    assert cancelled(result)
    assert result.exit_code != 128 + signal.SIGKILL  # a polite request was enough
    said = [event.text for event in read_journal(result.run_dir / JOURNAL_FILE) if isinstance(event, Delta)]
    assert "".join(said) == "The answer is 42, because"


async def test_what_a_tool_left_running_ends_with_its_agent_and_does_not_hold_it_up(play: Play) -> None:
    leave = Call("bash", {"command": "setsid sleep 1000 >/dev/null 2>&1 & echo left"})
    stage = play(Script().otherwise([leave, Say("Done.")]))
    result = await stage.run()
    assert (result.ok, result.output) == (True, "Done.")
    assert processes_below(stage.project) == []
