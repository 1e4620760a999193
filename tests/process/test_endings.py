"""Endings and limits, once each with a real process; every case of them is in tests/supervisor."""

from __future__ import annotations

import time

from pi_subagents.models import Usage
from pi_subagents.testing import answer, assistant, prints, tool_call, tool_result
from pi_subagents.testing.agent import exits, pauses
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end
from tests.process.kit import Stage, make_stage

FOREVER = pauses(300)
TIMEOUT_S = 10
"""Only an agent that is at work gets an extension, and on a busy machine it takes one some seconds to begin."""


async def test_exit_zero_without_settling_is_no_success(stage: Stage) -> None:
    result = await stage.run(prints(AGENT_START, assistant("Half of it")))
    assert (result.status, result.reason, result.output) == ("failed", "exit", "Half of it")
    assert result.error == "Sub-agent exited with code 0 before it finished"


async def test_an_agent_that_settled_and_stays_is_ended_after_two_seconds_and_has_completed(stage: Stage) -> None:
    started = time.monotonic()
    result = await stage.run(prints(*answer("Done.")), FOREVER)
    assert (result.status, result.output) == ("completed", "Done.")
    assert time.monotonic() - started >= 2
    assert stage.processes() == []


async def test_a_tool_error_that_the_agent_recovered_from_is_no_failure(plain_stage: Stage) -> None:
    call = assistant("", tool_call("bash", command="false"))
    result = await plain_stage.run(prints(call, tool_result("bash", "exit 1", is_error=True), *answer("Done.")))
    assert (result.status, result.tool_count) == ("completed", 1)


async def test_a_pass_that_announces_a_retry_is_not_the_end(plain_stage: Stage) -> None:
    failed = assistant(stop_reason="error", error="429 slow down")
    result = await plain_stage.run(prints(AGENT_START, failed, agent_end(will_retry=True)), exits(0))
    assert (result.status, result.reason) == ("failed", "exit")


async def test_a_stream_of_version_0_74_completes(plain_stage: Stage) -> None:
    result = await plain_stage.run(prints(AGENT_START, assistant("Done."), agent_end(will_retry=None)))
    assert (result.status, result.output) == ("completed", "Done.")


async def test_a_failed_answer_fails_the_run_although_the_agent_exits_with_zero(plain_stage: Stage) -> None:
    failed = assistant(stop_reason="error", error="500 from the model")
    result = await plain_stage.run(prints(AGENT_START, failed, agent_end(), AGENT_SETTLED))
    assert (result.status, result.reason, result.error) == ("failed", "agent_error", "500 from the model")


async def test_a_run_that_takes_too_long_is_ended(plain_stage: Stage) -> None:
    stage = make_stage(plain_stage.project / "inner", "guard", extend_timeout_debounce=0)
    started = time.monotonic()
    result = await stage.run(prints(AGENT_START), FOREVER, timeout=1)
    assert time.monotonic() - started >= 1
    assert (result.status, result.reason) == ("failed", "timeout")
    assert result.error == "Timed out after 1s. Consider resuming with a longer timeout."


async def test_a_working_agent_gets_its_extension(plain_stage: Stage) -> None:
    stage = make_stage(plain_stage.project / "inner", "guard", extend_timeout_debounce=60)
    calls = [prints(assistant("", tool_call("bash", command=f"step {n}"))) for n in range(4)]
    # The first call, however late it comes, is there before the time is up, and the second one after that.
    steps = [calls[0], pauses(TIMEOUT_S), *calls[1:], prints(*answer("Done."))]
    result = await stage.run(*steps, timeout=TIMEOUT_S)
    assert (result.status, result.tool_count) == ("completed", 4)
    assert result.duration_s > TIMEOUT_S


async def test_a_loop_is_ended_and_no_loop_detection_lets_it_run(plain_stage: Stage) -> None:
    same = prints(*[assistant("", tool_call("bash", command="ls"))] * 6)
    looped = await plain_stage.run(same, FOREVER)
    assert looped.error == "Loop detected: sub-agent is repeating the same tool calls"
    stage = make_stage(plain_stage.project / "inner", "guard", looping_tool_count=0)
    assert (await stage.run(same, prints(*answer("Done.")))).status == "completed"


async def test_todos_and_costs_are_counted(plain_stage: Stage) -> None:
    usage = {"input": 10, "output": 5, "totalTokens": 15, "cost": {"total": 0.5}}
    todos = tool_call("write_todos", todos=["a", "b"])
    delegation = plain_stage.delegation(
        [prints(assistant("", todos, usage=usage), assistant("more", usage=usage), *answer("Done."))]
    )
    (result,) = await delegation
    assert result.usage == Usage(input=20, output=10, total_tokens=30, cost=1.0)
    assert (delegation.runs[0].state.todo_total, delegation.runs[0].state.todo_completed) == (2, 0)
