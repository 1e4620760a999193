"""The limits of a run, seen on a real agent: its timeout with and without extension, and loops."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pi_subagents import Reason, RunResult, Status, Task
from pi_subagents.offline import Call, Hang, Say, Script
from pi_subagents.store import JOURNAL_FILE
from pi_subagents.text import duration
from tests.kit.waiting import until_async
from tests.pi.stage import WAIT_S, Play, Stage

TIMEOUT_S, EXTENSION_S = 600, 30
LOOP = "Loop detected: sub-agent is repeating the same tool calls"


class AtWork:
    """An agent whose tools wait to be let go, and a clock of ours that is put forward meanwhile."""

    def __init__(self, stage: Stage, work: asyncio.Future[list[RunResult]], monkeypatch: pytest.MonkeyPatch) -> None:
        self._stage = stage
        self._work = work
        self._ahead_s = 0.0
        usual = asyncio.get_running_loop().time
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: usual() + self._ahead_s)

    async def until_called(self, number: int) -> None:
        await until_async((self._stage.project / f"called{number}").exists)

    def let_go(self, number: int) -> None:
        (self._stage.project / f"go{number}").touch()

    async def let_pass(self, seconds: int) -> None:
        """Put the clock forward, but by so little at a time that nobody believes that we were asleep."""
        for _ in range(seconds):
            self._ahead_s += 1
            await asyncio.sleep(0)

    async def end(self) -> RunResult:
        (result,) = await asyncio.wait_for(self._work, WAIT_S)
        return result


def work(number: int) -> Call:
    """A tool call that takes its time; no two are alike."""
    return Call("bash", {"command": f"touch called{number}; until [ -e go{number} ]; do sleep 0.02; done"})


@asynccontextmanager
async def at_work(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AtWork]:
    """An agent in its first tool call, whose time has passed."""
    stage.write_settings(extend_timeout_debounce=EXTENSION_S)
    async with stage.delegation(Task("t", "Go.", timeout=TIMEOUT_S)) as delegation:
        agent = AtWork(stage, asyncio.ensure_future(delegation), monkeypatch)
        await agent.until_called(0)
        await agent.let_pass(TIMEOUT_S + 1)
        yield agent


def failed(result: RunResult) -> tuple[Status, Reason | None, str | None]:
    return result.status, result.reason, result.error


async def test_an_agent_that_keeps_calling_tools_goes_on_after_its_timeout_until_it_falls_idle(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = play(Script().otherwise([work(0), work(1), Hang()]))
    async with at_work(stage, monkeypatch) as agent:
        await agent.let_pass(EXTENSION_S - 10)
        agent.let_go(0)
        await agent.until_called(1)
        await agent.let_pass(EXTENSION_S - 10)  # its second call has renewed the extension
        agent.let_go(1)
        await until_async(lambda: len(stage.model.requests) == 3)
        await agent.let_pass(EXTENSION_S)
        result = await agent.end()
    sentence = f"Timed out after {TIMEOUT_S}s. Consider resuming with a longer timeout."
    assert failed(result) == (Status.FAILED, Reason.TIMEOUT, sentence)
    assert result.tool_count == 2


async def test_an_agent_that_ends_within_its_extension_has_completed(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = play(Script().otherwise([work(0), Say("Just in time.")]))
    async with at_work(stage, monkeypatch) as agent:
        agent.let_go(0)
        result = await agent.end()
    assert (result.ok, result.output) == (True, "Just in time.")


async def test_without_an_extension_the_run_ends_at_its_timeout_however_busy_the_agent_is(play: Play) -> None:
    stage = play(Script().otherwise([*(Call("bash", {"command": f"sleep 0.3; echo {n}"}) for n in range(1000))]))
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
    done = stage.command("run", "--timeout", "0m2s", "Think.")
    (record,) = (json.loads((folder / "result.json").read_bytes()) for folder in stage.run_dirs)
    took = duration(record["durationMs"] / 1000)
    assert record["durationMs"] == record["completedAt"] - record["startedAt"] >= 2000
    assert record["error"] == "Timed out after 2s. Consider resuming with a longer timeout."
    assert f"✗ {record['error']} (ran for {took})\n" in done.stderr
    assert f"✗ failed {took}" in " ".join(done.stderr.split())


@pytest.mark.parametrize("count", [5, 3])
async def test_the_same_call_again_and_again_is_a_loop(play: Play, count: int) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "echo again"})] * 20))
    if count != 5:
        stage.write_settings(looping_tool_count=count)
    result = await stage.run()
    assert failed(result) == (Status.FAILED, Reason.LOOP, LOOP)
    # On a busy machine the agent calls once more before its end reaches it.
    before_stop, stop, _after = (result.run_dir / JOURNAL_FILE).read_text().partition('"type":"stop_requested"')
    assert stop
    assert before_stop.count('"type":"toolCall"') == count


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
