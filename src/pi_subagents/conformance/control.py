"""What people do to a working agent: stop it, steer it, allow and deny what it asks for."""

from __future__ import annotations

import time
from pathlib import Path

from pi_subagents.conformance.stage import GLANCE_S, Outcome, Running, Stage, expect, glance
from pi_subagents.models import event as ev
from pi_subagents.offline import Call, Hang, Say

_STOPPED_WITHIN_S = 4.0
_GONE_WITHIN_S = 2.0
_UNANSWERED_S = 0.5
"""For how long a request for permission is left without an answer: longer than it takes to write a file."""


async def _stopped(stage: Stage, running: Running) -> Outcome:
    """Stop the run, and expect it to end in time and leave no process behind."""
    since = time.monotonic()
    running.stop()
    outcome = (await running.outcome()).aborted()
    took_s = time.monotonic() - since
    expect(took_s < _STOPPED_WITHIN_S, f"stopping took {took_s:.1f} s")
    expect(await glance(lambda: not stage.processes(), _GONE_WITHIN_S), f"still running: {stage.processes().values()}")
    return outcome


async def cancel_in_tool(stage: Stage) -> None:
    """An agent that is stopped during a command ends at once, and so does the command"""
    command = "sleep 311 & sleep 312"
    async with stage.start(["Go."], stage.agent.tools.bash(command), Say("Never.")) as running:
        await running.until("the command runs", lambda: any("sleep 312" in line for line in stage.processes().values()))
        await _stopped(stage, running)


async def cancel_in_text(stage: Stage) -> None:
    """If an agent is stopped during its answer, the text so far is kept"""
    async with stage.start(["Go."], Hang("The answer is forty")) as running:
        await running.until("the text came", lambda: running.saw(ev.Delta))
        outcome = await _stopped(stage, running)
    expect("The answer is forty" in outcome.text, f"what was kept is {outcome.text!r}")


async def steer(stage: Stage) -> None:
    """A steering message reaches the model before its next turn"""
    async with stage.start(["Go."], stage.agent.tools.bash("sleep 1.5; echo slept"), Say("I heard you.")) as running:
        await running.until("a tool runs", lambda: running.saw(ev.ToolStarted))
        await running.steer("Look at the elm instead.")
        outcome = (await running.outcome()).completed("I heard you.")
    heard = [request.step for request in outcome.asked if "the elm instead" in str(request.messages)]
    expect(heard[:1] == [1], f"of {len(outcome.asked)} requests, these contained it: {heard}")


def _ask(stage: Stage, file: Path) -> Call:
    tools = stage.agent.tools
    return tools.ask(file) if tools.ask else tools.write(file, "written\n")


def _appears(file: Path, within_s: float) -> bool:
    """Whether the file appears within that time, in which nothing else of ours happens."""
    deadline = time.monotonic() + within_s
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(GLANCE_S)
    return file.exists()


async def denied(stage: Stage) -> None:
    """What is denied is not done, and the agent continues without it"""
    file = stage.project / "forbidden.txt"
    run = await stage.run("Go.", _ask(stage, file), Say("Then not."), approvals="deny")
    run.completed("Then not.")
    expect(not file.exists(), "the file was written all the same")
    answers = [answer.allowed for answer in run.of(ev.ApprovalAnswered)]
    expect(run.of(ev.ApprovalRequested) and answers == [False], f"the answers to its requests are {answers}")


async def allowed(stage: Stage) -> None:
    """An agent that asks for permission waits for the answer, and continues when it is allowed"""
    file, unanswered = stage.project / "wanted.txt", list[bool]()

    def leave_unanswered(event: ev.Event) -> None:
        if isinstance(event, ev.ApprovalRequested):
            unanswered.append(_appears(file, _UNANSWERED_S))

    run = await stage.run("Go.", _ask(stage, file), Say("Written."), approvals="allow", watch=leave_unanswered)
    run.completed("Written.")
    expect(file.exists(), "the file was not written")
    expect(not any(unanswered), "it did not wait: the file was there before the answer")
    kinds = [type(event) for event in run.events if isinstance(event, ev.ApprovalRequested | ev.ApprovalAnswered)]
    expect(kinds == [ev.ApprovalRequested, ev.ApprovalAnswered], f"the requests and answers are {kinds}")
