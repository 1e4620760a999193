"""A background run without its lease file is alive as long as its keeper, or whoever keeps the queue, is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.models import Reason
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, load_run
from pi_subagents.testing.agent import prints, waits_for
from pi_subagents.testing.records import AGENT_SETTLED, agent_end, assistant
from tests.background.kit import Yard
from tests.kit.waiting import until

DONE = prints(assistant("finished"), agent_end(), AGENT_SETTLED)


def ends_in(run_dir: Path) -> int:
    return sum(b'"type":"ended"' in line for line in (run_dir / JOURNAL_FILE).read_bytes().splitlines())


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_background_runs_at_work_and_in_the_queue_are_alive_without_their_lease_files(
    yard: Yard, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    working, waiting = [await yard.launch(waits_for(gate), DONE) for _ in range(2)]
    until(lambda: yard.keeper_of(working) is not None)
    for run_dir in (working, waiting):
        (run_dir / LEASE_FILE).unlink()
        assert not load_run(run_dir).status.is_terminal
    gate.touch()
    for run_dir in (working, waiting):
        assert (await yard.see_the_end(run_dir))["status"] == "completed"
        assert ends_in(run_dir) == 1


async def test_a_killed_keeper_without_its_lease_file_is_lost_and_not_alive(yard: Yard) -> None:
    run_dir = await yard.launch_at_work()
    (run_dir / LEASE_FILE).unlink()
    yard.kill_keeper(run_dir)
    assert load_run(run_dir).reason is Reason.LOST
    assert ends_in(run_dir) == 1
