"""The prompt goes to standard input, whether the agent reads it gladly, slowly or not at all."""

from __future__ import annotations

import asyncio

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models import Task
from pi_subagents.models import event as ev
from pi_subagents.place import Place
from pi_subagents.runs.run import RunResult
from pi_subagents.testing import SCRIPT_VARIABLE, Action, script
from pi_subagents.testing.agent import counts_input, exits, pauses
from tests.kit.waiting import PATIENCE_S
from tests.process.kit import DONE, Stage

TEN_MB = 10 * 1024 * 1024


async def told(stage: Stage, *actions: Action, size: int = TEN_MB) -> RunResult:
    """See an agent through that is told `size` bytes and does `actions` meanwhile."""
    environ = stage.full_environ({SCRIPT_VARIABLE: script(*actions)})
    (result,) = await Delegation([Task("task", "x" * size)], place=Place.here(stage.project, environ))
    return result


async def test_ten_megabytes_arrive_at_an_agent_that_reads_slowly(stage: Stage) -> None:
    result = await told(stage, counts_input(chunk_bytes=1 << 16, pause_s=0.001), DONE)
    assert result.status == "completed"
    outputs = [event.text for event in stage.events() if isinstance(event, ev.Output)]
    assert outputs == [f"read {TEN_MB} bytes"]


async def test_an_agent_that_never_reads_its_prompt_is_not_in_the_way(stage: Stage) -> None:
    result = await told(stage, pauses(0.2), DONE)
    assert (result.status, result.output) == ("completed", "Done.")


async def test_an_agent_that_exits_at_once_does_not_make_the_holder_fail(stage: Stage) -> None:
    async with asyncio.timeout(PATIENCE_S):
        result = await told(stage, exits(3))
    assert (result.status, result.reason, result.exit_code) == ("failed", "exit", 3)


async def test_the_prompt_ends_so_that_an_agent_that_waits_for_its_end_goes_on(plain_stage: Stage) -> None:
    result = await told(plain_stage, counts_input(), DONE, size=5)
    assert result.status == "completed"
    assert [event.text for event in plain_stage.events() if isinstance(event, ev.Output)] == ["read 5 bytes"]
