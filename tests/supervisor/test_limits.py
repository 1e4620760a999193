"""Timeouts, extensions, loops, todo counts and costs, on a clock that does not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pi_subagents.models import Usage
from pi_subagents.supervisor import Limits, Supervisor
from pi_subagents.testing.fakes import FakeProcess
from pi_subagents.testing.records import Record, answer, assistant, tool_call
from pi_subagents.testing.virtual_clock import VirtualClockLoop
from tests.supervisor.kit import FOREVER_S, printing, see_through, staying

TIMED_OUT = ("failed", "timeout", "Timed out after 60s. Consider resuming with a longer timeout.")
LOOPED = ("failed", "loop", "Loop detected: sub-agent is repeating the same tool calls")
COMPLETED = ("completed", "settled", None)


def test_without_an_extension_the_run_ends_when_its_time_is_up(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, _calling_tools_every(7), Limits(timeout_s=60, extension_s=0, loop_count=0))
    assert outcome.verdict == TIMED_OUT
    assert outcome.signals == [("terminate", 60)]


def test_an_agent_that_does_nothing_ends_when_its_time_is_up(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(), Limits(timeout_s=60, extension_s=30))
    assert outcome.verdict == TIMED_OUT
    assert outcome.signals == [("terminate", 60)]


def test_the_time_in_which_the_holder_was_stopped_is_not_the_agents(tmp_path: Path) -> None:
    async def ctrl_z(_supervisor: Supervisor) -> None:
        await asyncio.sleep(40)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualClockLoop)
        loop.pass_time(1000)

    limits = Limits(timeout_s=60, extension_s=30)
    outcome = see_through(tmp_path, staying(), limits, meanwhile=ctrl_z)
    assert outcome.verdict == TIMED_OUT
    ((_, ended_at),) = outcome.signals
    assert ended_at == pytest.approx(1060, abs=1)


@pytest.mark.parametrize(("called_at", "ends_at"), [(10, 60), (30, 60), (31, 61), (59, 89)])
def test_the_extension_counts_from_the_latest_call(called_at: float, ends_at: float, tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        await asyncio.sleep(called_at)
        process.prints(assistant("", tool_call("bash")))
        await asyncio.sleep(FOREVER_S)
        return 0

    outcome = see_through(tmp_path, play, Limits(timeout_s=60, extension_s=30))
    assert outcome.verdict == TIMED_OUT
    assert outcome.signals == [("terminate", ends_at)]


@pytest.mark.parametrize(("ended_at", "ends_at"), [(None, 70), (59, 60)])
def test_a_tool_that_still_runs_when_the_time_is_up_is_work(
    ended_at: float | None, ends_at: float, tmp_path: Path
) -> None:
    async def play(process: FakeProcess) -> int:
        process.prints({"type": "tool_execution_start", "toolCallId": "1", "toolName": "bash"})
        if ended_at is not None:
            await asyncio.sleep(ended_at)
            process.prints({"type": "tool_execution_end", "toolCallId": "1", "toolName": "bash"})
        await asyncio.sleep(FOREVER_S)
        return 0

    outcome = see_through(tmp_path, play, Limits(timeout_s=60, extension_s=10))
    assert outcome.verdict == TIMED_OUT
    assert outcome.signals == [("terminate", ends_at)]


def test_a_working_agent_keeps_its_extension_until_it_stops_calling_tools(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        for number in range(10):  # the last call is made at 180 s
            await asyncio.sleep(18)
            process.prints(assistant("", tool_call("bash", command=f"step {number}")))
        await asyncio.sleep(FOREVER_S)
        return 0

    outcome = see_through(tmp_path, play, Limits(timeout_s=60, extension_s=30))
    assert outcome.verdict == TIMED_OUT
    assert outcome.signals == [("terminate", 210)]


def test_a_working_agent_may_finish_after_its_time_is_up(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        for number in range(10):
            await asyncio.sleep(18)
            process.prints({"type": "tool_execution_start", "toolCallId": str(number), "toolName": "bash"})
        process.prints(*answer("Done."))
        return 0

    outcome = see_through(tmp_path, play, Limits(timeout_s=60, extension_s=30))
    assert (outcome.verdict, outcome.elapsed_s) == (COMPLETED, 180)


def test_text_alone_does_not_prolong_the_time(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        while True:
            await asyncio.sleep(5)
            process.prints(assistant("still thinking"))

    outcome = see_through(tmp_path, play, Limits(timeout_s=60, extension_s=10))
    assert outcome.signals == [("terminate", 60)]


def test_without_a_timeout_a_run_may_take_as_long_as_it_wants(tmp_path: Path) -> None:
    async def play(process: FakeProcess) -> int:
        await asyncio.sleep(FOREVER_S)
        process.prints(*answer("Done."))
        return 0

    assert see_through(tmp_path, play, Limits(timeout_s=None)).verdict == COMPLETED


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


def test_several_equal_calls_in_one_message_are_a_loop(tmp_path: Path) -> None:
    message = assistant("", *[tool_call("bash", str(number), command="ls") for number in range(5)])
    assert see_through(tmp_path, staying(message), Limits(loop_count=5)).verdict == LOOPED


@pytest.mark.parametrize(
    "other",
    [tool_call("read", command="ls"), tool_call("bash", command="ls -l"), tool_call("bash", command="ls", timeout=1)],
)
def test_another_call_in_between_makes_it_no_loop(other: Record, tmp_path: Path) -> None:
    same = assistant("", tool_call("bash", command="ls"))
    records = [same, same, assistant("", other), same, same, *answer("Done.")]
    assert see_through(tmp_path, printing(*records), Limits(loop_count=3)).verdict == COMPLETED


def test_scripts_that_call_the_same_again_and_again_are_a_loop_too(tmp_path: Path) -> None:
    def result(number: int) -> Record:
        call = {"id": "n", "name": "bash", "arguments": {"command": "ls"}, "status": "ok"}
        told = {"role": "toolResult", "toolCallId": str(number), "toolName": "codemode"}
        return {"type": "message_end", "message": {**told, "nestedCalls": {"calls": [call], "complete": True}}}

    def play(rounds: int) -> list[Record]:
        scripts = [assistant("", tool_call("codemode", code=f"// {number}")) for number in range(rounds)]
        return [record for number, script in enumerate(scripts) for record in (script, result(number))]

    limits = Limits(loop_count=3)
    for folder in ("two", "three"):
        (tmp_path / folder).mkdir()
    assert see_through(tmp_path / "two", printing(*play(2), *answer("Done.")), limits).verdict == COMPLETED
    assert see_through(tmp_path / "three", printing(*play(3), *answer("Done.")), limits).verdict == LOOPED


def test_a_looping_agent_is_stopped_at_once(tmp_path: Path) -> None:
    outcome = see_through(tmp_path, staying(*[assistant("", tool_call("bash"))] * 5), Limits(loop_count=5))
    assert outcome.signals == [("terminate", 0)]


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
    tool = {
        "type": "message_end",
        "message": {"role": "toolResult", "toolName": "t", "toolCallId": "1", "usage": usage},
    }
    records = [assistant("one", usage=usage), tool, assistant("two", usage=usage)]
    state = see_through(tmp_path, printing(*records, *answer("Done."))).state
    assert state.usage == Usage(300, 60, 15, 3, 378, 0.75)


def _calling_tools_every(seconds: float) -> Callable[[FakeProcess], Awaitable[int]]:
    async def play(process: FakeProcess) -> int:
        while True:
            await asyncio.sleep(seconds)
            process.prints(assistant("", tool_call("bash")))

    return play
