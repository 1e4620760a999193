"""Timeouts, extensions, loops, todo counts and costs, on a clock that does not wait."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_subagents.models import Usage
from pi_subagents.outcome import NOT_STARTED_SENTENCE
from pi_subagents.supervisor import Limits, Supervisor
from pi_subagents.testing import VirtualClockLoop
from pi_subagents.testing.records import AGENT_START, Record, answer, assistant, tool_call
from tests.supervisor.kit import COMPLETED, Step, printing, see_through, staying

TIMED_OUT = ("failed", "timeout", "Timed out after 60s. Consider resuming with a longer timeout.")
LOOPED = ("failed", "loop", "Loop detected: sub-agent is repeating the same tool calls")
CALL = assistant("", tool_call("bash"))
ACCEPTED: Record = {"type": "response", "command": "prompt", "success": True}
TOOL_STARTS, TOOL_ENDS = (
    {"type": f"tool_execution_{what}", "toolCallId": "1", "toolName": "bash"} for what in ("start", "end")
)


def calls(step: Record, times: int, every_s: float) -> list[Step]:
    return [each for _ in range(times) for each in (every_s, step)]


@pytest.mark.parametrize(
    ("extension_s", "steps", "ends_at"),
    [
        pytest.param(0, calls(CALL, 20, 7), 60, id="a working agent, without an extension"),
        pytest.param(30, [], 60, id="an agent that does nothing"),
        pytest.param(30, [10, CALL], 60, id="the extension counts from the latest call, which is long ago"),
        pytest.param(30, [30, CALL], 60, id="exactly as long ago as the extension"),
        pytest.param(30, [31, CALL], 61, id="a second later"),
        pytest.param(30, [59, CALL], 89, id="at the last moment"),
        pytest.param(10, [TOOL_STARTS], 70, id="a tool that still runs is work, but not for ever"),
        pytest.param(10, [TOOL_STARTS, 59, TOOL_ENDS], 60, id="one that has ended is not"),
        pytest.param(30, calls(CALL, 10, 18), 210, id="a working agent, until it calls no more tools"),
        pytest.param(10, calls(assistant("still thinking"), 20, 5), 60, id="text alone"),
    ],
)
def test_a_run_ends_when_its_time_is_up_unless_its_agent_is_at_work(
    extension_s: float, steps: list[Step], ends_at: float, tmp_path: Path
) -> None:
    outcome = see_through(tmp_path, staying(*steps), Limits(timeout_s=60, extension_s=extension_s, loop_count=0))
    assert outcome.verdict == TIMED_OUT
    assert outcome.signals == [("terminate", ends_at)]


def test_an_agent_that_takes_its_prompt_and_never_begins_is_ended_after_a_minute(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(ACCEPTED))
    assert outcome.verdict == ("failed", "agent_error", NOT_STARTED_SENTENCE)
    assert outcome.signals == [("terminate", 60)]


def test_one_that_begins_within_a_minute_may_take_its_time(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(ACCEPTED, 59, AGENT_START, 300, *answer("Done.")))
    assert (outcome.verdict, outcome.signals) == (COMPLETED, [])


def test_the_time_in_which_the_holder_was_stopped_is_not_the_agents(tmp_path: Path) -> None:
    async def ctrl_z(_supervisor: Supervisor) -> None:
        await asyncio.sleep(40)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualClockLoop)
        loop.pass_time(1000)

    outcome = see_through(tmp_path, staying(), Limits(timeout_s=60, extension_s=30), meanwhile=ctrl_z)
    assert outcome.verdict == TIMED_OUT
    ((_, ended_at),) = outcome.signals
    assert ended_at == pytest.approx(1060, abs=1)


@pytest.mark.parametrize(
    ("limits", "steps", "elapsed_s"),
    [
        pytest.param(Limits(timeout_s=60), calls(TOOL_STARTS, 10, 18), 180, id="a working agent after its time is up"),
        pytest.param(Limits(timeout_s=None), [1000], 1000, id="any agent without a timeout"),
    ],
)
def test_an_agent_may_finish(limits: Limits, steps: list[Step], elapsed_s: float, tmp_path: Path) -> None:
    outcome = see_through(tmp_path, printing(*steps, answer("Done.")), limits)
    assert (outcome.verdict, outcome.elapsed_s) == (COMPLETED, elapsed_s)


@pytest.mark.parametrize(
    ("count", "calls", "verdict"),
    [(5, 4, COMPLETED), (5, 5, LOOPED), (5, 6, LOOPED), (1, 1, LOOPED), (0, 50, COMPLETED)],
)
def test_a_loop_is_the_same_call_so_many_times_in_a_row(
    count: int, calls: int, verdict: tuple[str, ...], tmp_path: Path
) -> None:
    same = [assistant("", tool_call("bash", command="ls"))] * calls
    outcome = see_through(tmp_path, printing(*same, *answer("Done.")), Limits(loop_count=count))
    assert outcome.verdict == verdict


def test_several_equal_calls_in_one_message_are_a_loop_which_ends_at_once(tmp_path: Path) -> None:
    message = assistant("", *[tool_call("bash", str(number), command="ls") for number in range(5)])
    outcome = see_through(tmp_path, staying(message), Limits(loop_count=5))
    assert (outcome.verdict, outcome.signals) == (LOOPED, [("terminate", 0)])


@pytest.mark.parametrize(
    "other",
    [tool_call("read", command="ls"), tool_call("bash", command="ls -l"), tool_call("bash", command="ls", timeout=1)],
)
def test_another_call_in_between_makes_it_no_loop(other: Record, tmp_path: Path) -> None:
    same = assistant("", tool_call("bash", command="ls"))
    records = [same, same, assistant("", other), same, same, *answer("Done.")]
    assert see_through(tmp_path, printing(*records), Limits(loop_count=3)).verdict == COMPLETED


@pytest.mark.parametrize(("rounds", "verdict"), [(2, COMPLETED), (3, LOOPED)])
def test_scripts_that_call_the_same_again_and_again_are_a_loop_too(
    rounds: int, verdict: tuple[str, ...], tmp_path: Path
) -> None:
    records: list[Record] = []
    for number in range(rounds):
        call = {"id": "n", "name": "bash", "arguments": {"command": "ls"}, "status": "ok"}
        told = {"role": "toolResult", "toolCallId": str(number), "toolName": "codemode"}
        result = {"type": "message_end", "message": {**told, "nestedCalls": {"calls": [call], "complete": True}}}
        records += assistant("", tool_call("codemode", code=f"// {number}")), result
    outcome = see_through(tmp_path, printing(*records, *answer("Done.")), Limits(loop_count=3))
    assert outcome.verdict == verdict


def test_todos_are_counted_as_they_are_written_and_done(tmp_path: Path) -> None:
    records = [
        assistant("", tool_call("write_todos", todos=["a", "b", "c"])),
        assistant("", tool_call("edit_todos", action="complete", indices=[0])),
        assistant("", tool_call("write_todos", todos=["d"], mode="append")),
        assistant("", tool_call("edit_todos", action="abandon", indices=[1, 2])),
        assistant("", tool_call("edit_todos", action="rename", indices=[3])),
    ]
    state = see_through(tmp_path, printing(*records, *answer("Done."))).state
    assert (state.todo_total, state.todo_completed) == (4, 3)


def test_tokens_and_cost_are_summed_over_all_answers(tmp_path: Path) -> None:
    usage = {"input": 100, "output": 20, "cacheRead": 5, "cacheWrite": 1, "totalTokens": 126, "cost": {"total": 0.25}}
    message = {"role": "toolResult", "toolName": "t", "toolCallId": "1", "usage": usage}
    records = [assistant("one", usage=usage), {"type": "message_end", "message": message}, assistant("2", usage=usage)]
    state = see_through(tmp_path, printing(*records, *answer("Done."))).state
    assert state.usage == Usage(300, 60, 15, 3, 378, 0.75)
