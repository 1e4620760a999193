"""However and whenever the holder of a run is killed, the truth about the run is told and nothing recorded is lost."""

from __future__ import annotations

import json
import os
import random

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.errors import SessionNotFound
from pi_subagents.models import Reason, Status, Task
from pi_subagents.runs.sessions import Sessions
from pi_subagents.testing.agent import Action, pauses, prints, script
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, assistant, tool_call, tool_result
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import Stage
from tests.recovery.holders import POINTS
from tests.recovery.kit import Holders, check_truth, kill_after

KILLS_PER_TEST = 20
TESTS = 6


def work(steps: int = 3, pause_s: float = 0.01) -> list[Action]:
    """An agent that says and does something a few times and settles."""
    actions: list[Action] = [prints(AGENT_START)]
    for number in range(steps):
        call = tool_call("bash", str(number), command=f"step {number}")
        actions += [
            prints(assistant(f"step {number}", call), tool_result("bash", "done", str(number))),
            pauses(pause_s),
        ]
    return [*actions, prints(assistant("finished"), agent_end(), AGENT_SETTLED)]


@pytest.mark.parametrize("point", POINTS)
def test_a_holder_that_dies_at_a_boundary_leaves_the_truth(point: str, stage: Stage, holders: Holders) -> None:
    kill_after(holders.start(stage, work(), point=point), PATIENCE_S)
    states = check_truth(stage)
    if point == "before the record is published":
        assert states == []
        (draft,) = stage.runs.glob(".*.new")
        with pytest.raises(SessionNotFound):
            Sessions(stage.place).find(draft.stem.rpartition("-")[2])
        return
    finished = point in ("before the result gets its name", "after the result, before the index")
    assert [state.status for state in states] == [Status.COMPLETED if finished else Status.FAILED]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0], ids=["before", "in the middle of", "after"])
@pytest.mark.parametrize("nth", [2, 3, 4, 5, 6])
def test_a_holder_that_dies_at_a_write_leaves_the_truth(nth: int, share: float, stage: Stage, holders: Holders) -> None:
    kill_after(holders.start(stage, work(), write=(nth, share)), PATIENCE_S)
    (state,) = check_truth(stage)
    if share < 1.0:
        assert state.reason is Reason.LOST


@pytest.mark.parametrize("seed", range(TESTS))
async def test_a_holder_killed_at_random_leaves_the_truth_and_sessions_that_can_be_resumed(
    seed: int, stage: Stage, holders: Holders
) -> None:
    chance = random.Random(seed + int(os.environ.get("SOAK_SEED", "0")))
    for number in range(KILLS_PER_TEST):
        known = len(stage.run_dirs)
        holder = holders.start(stage, work())
        if number % 4:  # the others are killed while they prepare
            until(lambda known=known: len(stage.run_dirs) > known)  # type: ignore[misc]
        kill_after(holder, chance.uniform(0.0, 0.15))
    states = check_truth(stage)
    assert len(states) >= KILLS_PER_TEST * 3 // 4
    await _resume(stage, chance.choice(states).session_id)


async def _resume(stage: Stage, session_id: str) -> None:
    prompt = script(*work(1))
    # What the agent gets is not a script any more, so the stand-in answers with what it was told.
    (result,) = await Delegation([Task("again", prompt, resume=session_id)], place=stage.place)
    assert result.ok, result.error
    assert result.session_id == session_id
    session = Sessions(stage.place).find(session_id)
    assert [run.state.status.is_terminal for run in session.runs] == [True, True]
    told = result.output
    assert "Previously:" in told
    assert json.dumps(work(1))[:40] in told
