"""Speaking to a real agent while it works: what it is told, it hears before its next turn; or we say that it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pi_subagents import Reason, Status, Task
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.harness.pi.pi import PiJson
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.models import event as ev
from pi_subagents.offline import Call, Hang, Say, Script
from pi_subagents.offline.request import text_of
from pi_subagents.runs.live import ask_holder
from pi_subagents.store import JOURNAL_FILE, read_journal
from pi_subagents.supervisor import Supervisor
from tests.kit.waiting import until_async
from tests.pi.stage import WAIT_S, Play, Stage, processes_below

ADVICE = "Never mind that, look at the tests instead."


def waits(gate: Path) -> Call:
    """A tool call that ends when a file exists."""
    return Call("bash", {"command": f"echo begun > {gate}.begun; until [ -e {gate} ]; do sleep 0.02; done"})


def said_to_the_model(stage: Stage, number: int) -> list[str]:
    """What the user said, as the model saw it in one of its requests."""
    return [text_of(message) for message in stage.model.requests[number].messages if message["role"] == "user"]


def events(run_dir: Path, kind: type[ev.Event]) -> list[Any]:
    return [event for event in read_journal(run_dir / JOURNAL_FILE) if isinstance(event, kind)]


def steer(delegation: Delegation) -> str | None:
    """Give the one agent of a delegation the advice; returns why it cannot be told."""
    holder = delegation.runs[0].holder
    assert isinstance(holder, Supervisor)
    return holder.steer(ADVICE)


async def background(stage: Stage, task: str) -> Path:
    """Start a run in the background; returns its directory."""
    stage.write_preset("worker", "model: offline/scripted")
    result = await stage.tool("background_agent", preset="worker", task=task)
    assert not result.is_error, result.text
    return Path(result.details["run"]["paths"]["runDir"])


async def the_end_of(stage: Stage, run_dir: Path) -> dict[str, Any]:
    result = await stage.tool("background_agent_status", runId=run_dir.name, wait_s=WAIT_S - 1)
    (row,) = result.details["runs"]
    return dict(row)


async def test_a_background_agent_hears_what_it_is_told_in_its_next_request(play: Play, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    stage = play(Script().otherwise([waits(gate), Say("I looked at the tests.")]))
    run_dir = await background(stage, "Look at the code.")
    await until_async(Path(f"{gate}.begun").exists)
    assert ask_holder(run_dir, {"op": "steer", "text": ADVICE}) == {"ok": True, "error": None}
    await until_async(lambda: bool(events(run_dir, ev.QueueChanged)))
    gate.touch()
    row = await the_end_of(stage, run_dir)
    assert (row["status"], row["finalText"]) == ("completed", "I looked at the tests.")
    assert said_to_the_model(stage, 0) == ["Look at the code."]
    assert said_to_the_model(stage, 1) == ["Look at the code.", ADVICE]
    assert [event.text for event in events(run_dir, ev.SteerRequested)] == [ADVICE]
    # Taken off the queue is heard: only then does it count.
    assert [event.steering for event in events(run_dir, ev.QueueChanged)] == [(ADVICE,), ()]
    # The keeper goes a little later.
    await until_async(lambda: ask_holder(run_dir, {"op": "steer", "text": ADVICE}) is None)


async def test_an_agent_that_has_finished_is_not_said_to_have_heard(play: Play) -> None:
    stage = play(Script().otherwise([Say("Done.")]))
    answers: set[str | None] = set()
    async with stage.delegation(Task("t", "Go."), harness=PiRpc()) as delegation:
        async for update in delegation:
            if update.state.settled:
                answers.add(steer(delegation))
    (result,) = delegation.results
    assert result.ok
    assert answers == {"the agent has already finished"}
    assert events(result.run_dir, ev.SteerRequested) == []
    assert len(stage.model.requests) == 1


async def test_a_run_in_json_mode_says_plainly_that_it_cannot_be_steered(play: Play, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    stage = play(Script().otherwise([waits(gate), Say("Done.")]))
    async with stage.delegation(Task("t", "Go."), harness=PiJson()) as delegation:
        work = asyncio.ensure_future(delegation)
        await until_async(Path(f"{gate}.begun").exists)
        answer = steer(delegation)
        assert answer is not None
        assert "cannot be steered" in answer
        assert "pi-json" in answer
        gate.touch()
        (result,) = await asyncio.wait_for(work, WAIT_S)
    assert result.ok
    assert said_to_the_model(stage, 1) == ["Go."]


async def test_a_cancelled_agent_is_asked_first_and_never_called_completed(play: Play) -> None:
    stage = play(Script().otherwise([Hang("The answer is")]))
    async with stage.delegation(Task("t", "Go."), harness=PiRpc()) as delegation:
        work = asyncio.ensure_future(delegation)
        async for update in delegation:
            if update.state.partial_text:
                break
        delegation.stop()
        (result,) = await asyncio.wait_for(work, WAIT_S)
    assert (result.status, result.reason, result.error) == (Status.ABORTED, Reason.CANCELLED, "Cancelled")
    # It was asked in its own words and left by itself: no signal was needed, and what it had said is complete.
    assert [event.exit_code for event in events(result.run_dir, ev.Exited)] == [0]
    aborted = [event for event in events(result.run_dir, ev.Message) if event.stop_reason == "aborted"]
    assert ["".join(part.text for part in event.parts) for event in aborted] == ["The answer is"]
    assert processes_below(stage.project) == []


async def test_an_extension_that_asks_gets_a_safe_answer_and_the_journal_says_so(play: Play, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    stage = play(Script().otherwise([Call("bash", {"command": "echo hi"}), Say("Done.")]))
    extension = tmp_path / "asks.ts"
    extension.write_text(
        """
import { appendFileSync } from "node:fs";
export default function (pi) {
  pi.on("tool_call", async (_event, ctx) => {
    const answers = [
      await ctx.ui.confirm("Delete everything?", "There is no way back."),
      await ctx.ui.select("Which one?", ["the first", "the second"]),
      await ctx.ui.input("Your password?"),
    ];
    appendFileSync(process.env.HEARD, JSON.stringify(answers.map((answer) => answer ?? null)));
  });
}
"""
    )
    stage.write_profile("asks", "extraArgs:", "  - --extension", f"  - {extension}")
    stage.environ["HEARD"] = str(heard)
    (result,) = await stage.delegate(Task("t", "Go.", profile="asks"), harness=PiRpc())
    assert (result.ok, result.output) == (True, "Done.")
    assert heard.read_text() == "[false,null,null]"
    dismissed = [(event.method, event.title) for event in events(result.run_dir, ev.DialogDismissed)]
    assert dismissed == [("confirm", "Delete everything?"), ("select", "Which one?"), ("input", "Your password?")]
