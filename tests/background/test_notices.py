"""The end of a background run is told once, to its owner, whatever happens in between."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from pi_subagents.runs.background import (
    Registry,
    announcement,
    counts,
    footer,
    mark_announced,
)
from pi_subagents.runs.forms import run_row
from pi_subagents.runs.run import Run
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import exits, pauses, waits_for
from pi_subagents.tools import background
from tests.background.kit import Yard
from tests.kit.waiting import PATIENCE_S, until_async

READERS = 8


async def test_the_end_of_a_run_is_told_to_its_owner_alone(yard: Yard) -> None:
    run_dir = await yard.launch(prints(*answer("done")))
    other = await replace(yard, owner="somebody else").launch(exits(3))
    for each in (run_dir, other):
        await yard.see_the_end(each)
    (mine,) = yard.registry.unannounced()
    assert mine.run_dir == run_dir
    assert run_dir.name in announcement(mine)
    assert [run.run_dir for run in Registry(yard.place, "somebody else").unannounced()] == [other]
    assert Registry(yard.place, "a fork of the session").unannounced() == []
    assert counts(yard.registry.runs()) == {"running": 0, "completed": 1, "failed": 0, "aborted": 0, "total": 1}


async def test_a_run_that_is_not_over_is_not_told(yard: Yard) -> None:
    run_dir = await yard.launch_at_work()
    assert yard.registry.unannounced() == []
    (run,) = yard.registry.runs()
    assert footer([run]) == "bg: 1 running / 1 total"
    # A log that says otherwise is wrong: the end is still to be told.
    yard.registry.rebuild([run_row(run)], told=[run_dir.name])
    yard.kill_keeper(run_dir)
    (lost,) = yard.registry.unannounced()
    assert "failed" in announcement(lost)


async def test_of_many_who_look_at_once_one_tells(yard: Yard) -> None:
    run_dirs = [await yard.launch(prints(*answer("done"))) for _ in range(2)]
    for run_dir in run_dirs:
        await yard.see_the_end(run_dir)

    def look(_: int) -> list[str]:
        return [run.run_dir.name for run in yard.registry.unannounced() if mark_announced(run.run_dir)]

    with ThreadPool(READERS) as pool:
        told = [name for names in pool.map(look, range(READERS)) for name in names]
    assert sorted(told) == sorted(run_dir.name for run_dir in run_dirs)
    assert not any(mark_announced(run_dir) for run_dir in run_dirs)
    assert yard.registry.unannounced() == []


async def test_what_was_told_before_a_crash_is_not_told_again_and_the_rest_is(yard: Yard) -> None:
    told, untold, unknown = [await yard.launch(prints(*answer(word))) for word in ("told", "untold", "unknown")]
    for run_dir in (told, untold, unknown):
        await yard.see_the_end(run_dir)
    by_dir = {run.run_dir: run for run in yard.registry.runs()}
    # The owner's log: the message about the first was appended, and then the host died before it made its mark.
    entries = [*(run_row(by_dir[folder]) for folder in (told, told, untold)), {"junk": 1}]
    for _ in range(2):
        yard.registry.rebuild(entries, told=[told.name, "no such run"])
        assert [run.run_dir for run in yard.registry.unannounced()] == [untold, unknown]


@pytest.mark.parametrize("yard", [2], indirect=True)
async def test_waiting_returns_as_soon_as_one_of_the_runs_ends(
    yard: Yard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, look = threading.Event(), background._look

    def look_and_tell(registry: Registry, run_id: str | None) -> list[Run]:
        found = look(registry, run_id)
        looked.set()
        return found

    await yard.launch(pauses(300))
    await yard.launch(waits_for(tmp_path / "go"), prints(*answer("done")))
    monkeypatch.setattr(background, "_look", look_and_tell)
    waiting = asyncio.ensure_future(yard.status(wait_s=300))
    await until_async(looked.is_set, "it has seen that none is over")
    (tmp_path / "go").touch()
    async with asyncio.timeout(PATIENCE_S):
        details = await waiting
    assert details["counts"] == {"running": 1, "completed": 1, "failed": 0, "aborted": 0, "total": 2}
