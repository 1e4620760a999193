"""Many tasks in one call: how many agents work at once, and in which order results come back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pi_subagents import RunState, Task
from pi_subagents.models.event import Event, Exited, Started
from pi_subagents.offline import Call, Script, Turn, Usage
from tests.pi.stage import Play


class Crowd:
    """Watches agents come and go, and remembers the largest number there was at a time."""

    def __init__(self) -> None:
        self.present = 0
        self.largest = 0

    def observe(self, _state: RunState, events: Sequence[Event]) -> None:
        for event in events:
            self.present += isinstance(event, Started)
            self.present -= isinstance(event, Exited)
            self.largest = max(self.largest, self.present)


async def test_many_tasks_are_done_by_four_agents_at_a_time_and_answered_in_order(play: Play) -> None:
    stage = play(Script().otherwise([lambda request: Turn(text=f"Done: {request.first_user_text}")]))
    stage.write_settings(warmAgents=False)  # else two that answer at once would do for all
    crowd = Crowd()
    tasks = [Task(f"task {n}", f"Number {n}.") for n in range(9)]
    results = await stage.delegate(*tasks, observer=crowd.observe)
    assert [(result.name, result.output) for result in results] == [
        (f"task {n}", f"Done: Number {n}.") for n in range(9)
    ]
    assert all(result.ok for result in results)
    assert (crowd.largest, crowd.present) == (4, 0)
    assert len({result.session_id for result in results}) == len({result.run_id for result in results}) == 9
    assert len(stage.run_dirs) == 9


async def test_agents_work_side_by_side_and_their_costs_are_kept_apart(play: Play) -> None:
    def meet(usage: Usage) -> tuple[Turn, Turn]:
        # Each agent waits in a real tool until the other has come too; one after the other would never end well.
        wait = 'touch "$NAME"; until [ -e a ] && [ -e b ]; do sleep 0.05; done'
        name = "a" if usage.prompt_tokens == 100 else "b"
        call = Call("bash", {"command": f"NAME={name}; {wait}"})
        return Turn(calls=(call,), usage=usage), Turn(text="Met.", usage=usage)

    script = Script().when("One", meet(Usage(100, 10))).when("Two", meet(Usage(1000, 200, cached_tokens=400)))
    stage = play(script)
    one, two = await stage.delegate(Task("a", "One"), Task("b", "Two"))
    assert (one.output, two.output) == ("Met.", "Met.")
    assert [r.tool_results[0].text for r in stage.model.requests if r.step == 1] == ["(no output)"] * 2
    assert (one.usage.input, one.usage.output, one.usage.total_tokens, one.tool_count) == (200, 20, 220, 1)
    assert (two.usage.input, two.usage.output, two.usage.cache_read) == (1200, 400, 800)
    assert one.usage.cost == pytest.approx(200 * 1e-6 + 20 * 2e-6)
