"""One suite for all ways to speak to pi: the same task gives the same events and the same result."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pi_subagents import Reason, RunResult, Status, Task
from pi_subagents.agents.pool import agents_for
from pi_subagents.harness import Harness
from pi_subagents.harness.pi.pi import PiJson
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.models import event as ev
from pi_subagents.offline import Attempts, Call, CutStream, Fail, Hang, Say, Script, Turn
from pi_subagents.offline.script import Step
from pi_subagents.runners import Runner
from pi_subagents.settings import load_settings
from pi_subagents.store import JOURNAL_FILE, read_journal
from tests.pi.stage import Play, Stage, processes_below

WORK = Call("bash", {"command": "echo worked"})
WARM_UP = "Warm up."
TEN_MEGABYTES = "(made when it is needed)"

# What belongs to the way of speaking, to the process, or to the moment at which bytes arrived.
_LEFT_OUT = (
    *(ev.Created, ev.HeldBack, ev.Started, ev.Exited, ev.AgentSession, ev.PromptAccepted),
    *(ev.Delta, ev.ToolProgress, ev.QueueChanged),
)
FIELDS = ("status", "reason", "error", "output", "tool_count", "model", "usage", "exit_code")
_VARYING = ("at", "delayMs", "durationMs", "entry")

CASES: dict[str, tuple[list[Step], dict[str, Any]]] = {
    "text and a tool call": ([Turn("Let me see.", (WORK,)), Say("Done.")], {}),
    "thinking": ([Turn("The answer is 42.", thinking="Hm, let me think.", chunks=5)], {}),
    "a tool that fails": ([Call("bash", {"command": "exit 3"}), Call("no-such-tool"), Say("Recovered.")], {}),
    "a busy provider": ([Attempts(Fail(429, "slow down"), Say("After all."))], {}),
    "a broken provider": ([Fail(500, "on fire")], {}),
    "a refused key": ([Fail(401, "bad key")], {}),
    "a stream that is cut": ([Attempts(CutStream("Half an ans"), Say("The whole answer."))], {}),
    "a stream that is cut for good": ([CutStream("Half an ans")], {}),
    "a loop": ([WORK] * 10, {}),
    "a timeout": ([Hang("I was about to")], {"timeout": 2.5}),
    "a prompt that begins with a slash": ([Say("Ok.")], {"prompt": "/review the code"}),
    "a prompt like a command of pi": ([Say("Ok.")], {"prompt": "/compact"}),
    "ten megabytes": ([Say("Read.")], {"prompt": TEN_MEGABYTES}),
}


async def run_with(
    stage: Stage, harness: Harness, prompt: str = "Go.", agents: Runner | None = None, **task: Any
) -> RunResult:
    (result,) = await stage.delegate(Task("t", prompt, **task), harness=harness, agents=agents)
    return result


async def run_with_kept(stage: Stage, **task: Any) -> RunResult:
    """The same in a process that has done another task before."""
    settings = msgspec.structs.replace(load_settings(stage.project, stage.agent_dir), warm_agents=True)
    agents = agents_for(stage.place, settings)
    await run_with(stage, PiRpc(), WARM_UP, agents=agents)
    result = await run_with(stage, PiRpc(), agents=agents, **task)
    await agents.close()
    assert any(isinstance(event, ev.Started) and event.reused for event in read_journal(result.run_dir / JOURNAL_FILE))
    return result


def story(run_dir: Path) -> list[dict[str, Any]]:
    """What happened in a run, without what may differ; after a request to stop only how it ended."""
    told = []
    stopped = False
    for event in read_journal(run_dir / JOURNAL_FILE):
        if isinstance(event, _LEFT_OUT) or (stopped and not isinstance(event, ev.Ended)):
            continue
        stopped = stopped or isinstance(event, ev.StopRequested)
        told.append({key: value for key, value in _plain(event).items() if key not in _VARYING})
    return told


def _plain(event: ev.AnyEvent) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(event))
    return document


def kinds(run_dir: Path) -> list[type[ev.AnyEvent]]:
    """What a run was told about the agent's session and the prompt."""
    events = read_journal(run_dir / JOURNAL_FILE)
    return [type(event) for event in events if isinstance(event, ev.AgentSession | ev.PromptAccepted)]


@pytest.mark.parametrize("case", CASES)
async def test_all_ways_tell_the_same_story(case: str, play: Play) -> None:
    steps, task = CASES[case]
    if task.get("prompt") == TEN_MEGABYTES:
        task = {"prompt": "".join(f"{number:09d}\n" for number in range(1 << 20)) + "the end"}
    stage = play(Script().when(WARM_UP, [Say("Ready.")]).otherwise(steps))
    stage.write_settings(extend_timeout_debounce=0)
    # The first pi to start writes this; for another one that has begun, it would be a file that has changed.
    (stage.agent_dir / "auth.json").write_text("{}", encoding="utf-8")
    by_json, by_rpc, by_kept = await asyncio.gather(
        run_with(stage, PiJson(), **task), run_with(stage, PiRpc(), **task), run_with_kept(stage, **task)
    )
    # How far an agent has come at its timeout is a matter of luck.
    since = -2 if "timeout" in task else 0
    assert story(by_rpc.run_dir)[since:] == story(by_json.run_dir)[since:]
    assert story(by_kept.run_dir)[since:] == story(by_json.run_dir)[since:]
    # One that can be asked to stop exits by itself, the other one of a signal, and not at the same moment.
    was_stopped = by_json.reason in (Reason.LOOP, Reason.TIMEOUT)
    for field in FIELDS[:3] if was_stopped else FIELDS:
        assert getattr(by_rpc, field) == getattr(by_json, field), field
        assert getattr(by_kept, field) == getattr(by_json, field), field
    if "prompt" in task:
        assert {request.first_user_text for request in stage.model.requests} == {task["prompt"], WARM_UP}
        assert by_rpc.status is Status.COMPLETED
    if "timeout" not in task:  # what each says for itself
        assert kinds(by_rpc.run_dir) == kinds(by_kept.run_dir) == [ev.AgentSession, ev.PromptAccepted]
        assert kinds(by_json.run_dir) == [ev.AgentSession]
    assert processes_below(stage.project) == []
