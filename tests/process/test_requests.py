"""Another process asks for a run to be stopped, whether it works already or not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi_subagents.models import Status
from pi_subagents.store import request_stop
from pi_subagents.testing.agent import prints, touches, waits_for
from pi_subagents.testing.records import answer
from tests.kit.waiting import until_async
from tests.process.kit import Stage


async def test_a_run_that_waits_for_its_turn_ends_at_once_and_the_others_go_on(
    plain_stage: Stage, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    scripts = [[touches(tmp_path / str(n)), waits_for(gate), prints(*answer("done"))] for n in range(5)]
    delegation = plain_stage.delegation(*scripts)
    work = asyncio.ensure_future(delegation)
    await until_async(lambda: all((tmp_path / str(n)).exists() for n in range(4)))
    waiting = delegation.runs[4]
    request_stop(waiting.run_dir, "Not needed any more")
    await until_async(lambda: waiting.state.status.is_terminal)
    assert [run.state.status for run in delegation.runs[:4]] == [Status.RUNNING] * 4
    gate.touch()
    results = await work
    assert [result.status for result in results] == ["completed"] * 4 + ["aborted"]
    assert results[4].error == "Not needed any more"
    assert not (tmp_path / "4").exists()
