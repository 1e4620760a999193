"""The limits of a run, seen on a real agent: its timeout with and without extension, and loops."""

from __future__ import annotations

import json

import pytest

from pi_subagents import Reason, RunResult, Status
from pi_subagents.offline import Call, Hang, Say, Script
from pi_subagents.text import duration
from tests.pi.stage import Play

TIMEOUT_S = 30
"""Only an agent that is at work gets an extension, and on a busy machine it takes one ten seconds to begin."""
EXTENSION_S = 15
"""As long may a model's answer take."""
LOOP = "Loop detected: sub-agent is repeating the same tool calls"


def work(number: int, seconds: float) -> Call:
    """A tool call that takes its time; no two are alike."""
    return Call("bash", {"command": f"sleep {seconds}; echo {number}"})


def failed(result: RunResult) -> tuple[Status, Reason | None, str | None]:
    return result.status, result.reason, result.error


async def test_an_agent_that_keeps_calling_tools_goes_on_after_its_timeout_until_it_falls_idle(play: Play) -> None:
    # The first call, however late it comes, outlasts the timeout; then the model says nothing more.
    stage = play(Script().otherwise([work(0, TIMEOUT_S + 1), work(1, 1), Hang()]))
    stage.write_settings(extend_timeout_debounce=EXTENSION_S)
    result = await stage.run(timeout=TIMEOUT_S)
    assert failed(result) == (
        Status.FAILED,
        Reason.TIMEOUT,
        f"Timed out after {TIMEOUT_S}s. Consider resuming with a longer timeout.",
    )
    assert result.tool_count == 2
    assert result.duration_s > TIMEOUT_S + 1 + EXTENSION_S, "from the beginning of the last call"


async def test_an_agent_that_ends_within_its_extension_has_completed(play: Play) -> None:
    stage = play(Script().otherwise([work(1, TIMEOUT_S), work(2, 0.7), Say("Just in time.")]))
    stage.write_settings(extend_timeout_debounce=EXTENSION_S)
    result = await stage.run(timeout=TIMEOUT_S)
    assert (result.ok, result.output) == (True, "Just in time.")
    assert result.duration_s > TIMEOUT_S


async def test_without_an_extension_the_run_ends_at_its_timeout_however_busy_the_agent_is(play: Play) -> None:
    stage = play(Script().otherwise([*(work(n, 0.3) for n in range(1000))]))
    stage.write_settings(extend_timeout_debounce=0)
    answer = await stage.call({"name": "slow", "prompt": "Go.", "timeout": 2.5})
    (window,) = answer.details["windows"]
    assert answer.text == (
        "✗ slow: error — Timed out after 2.5s. Consider resuming with a longer timeout. "
        f"(session: {window['sessionId']})"
    )
    assert window["completedAt"] - window["startedAt"] >= 2500
    assert (window["status"], window["timeout"], window["reason"]) == ("error", 2.5, "timeout")


def test_an_agent_that_calls_no_tool_ends_at_its_time_and_its_real_duration_is_told(play: Play) -> None:
    # With an extension this would take longer than any test may.
    stage = play(Script().otherwise([Hang("I think about it.")]))
    stage.write_settings(extend_timeout_debounce=300)
    done = stage.command("run", "--timeout", "0m5s", "Think.")
    (record,) = (json.loads((folder / "result.json").read_bytes()) for folder in stage.run_dirs)
    took = duration(record["durationMs"] / 1000)
    assert record["durationMs"] == record["completedAt"] - record["startedAt"] >= 5000
    assert record["error"] == "Timed out after 5s. Consider resuming with a longer timeout."
    assert f"✗ {record['error']} (ran for {took})\n" in done.stderr
    assert f"✗ failed {took}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("count", [5, 3])
async def test_the_same_call_again_and_again_is_a_loop(play: Play, count: int) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "echo again"})] * 20))
    if count != 5:
        stage.write_settings(looping_tool_count=count)
    result = await stage.run()
    assert failed(result) == (Status.FAILED, Reason.LOOP, LOOP)
    assert result.tool_count == count


async def test_calls_that_differ_in_the_least_are_no_loop(play: Play) -> None:
    same, other = Call("bash", {"command": "echo a"}), Call("bash", {"command": "echo b"})
    stage = play(Script().otherwise([same, same, same, same, other, same, same, same, same, Say("Done.")]))
    result = await stage.run()
    assert (result.ok, result.tool_count) == (True, 9)


async def test_loop_detection_can_be_switched_off(play: Play) -> None:
    stage = play(Script().otherwise([*[Call("bash", {"command": "echo again"})] * 7, Say("Done.")]))
    stage.write_settings(looping_tool_count=0)
    result = await stage.run()
    assert (result.ok, result.tool_count, result.output) == (True, 7, "Done.")
