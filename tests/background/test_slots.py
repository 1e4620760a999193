"""No more agents at once than there are places, and whoever came first goes first, whoever launched them."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import pytest

from pi_subagents.models import Status
from pi_subagents.runs.background import counts, mark_announced
from pi_subagents.runs.run import Run
from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import Action, pauses, waits_for
from tests.background.kit import WAIT_S, Yard, descriptors
from tests.kit.processes import kill, state_of
from tests.kit.waiting import until, until_async

RUNS = 32
LAUNCHERS = 4
LIMIT = 8


def overlap(runs: Iterable[Run]) -> int:
    """How many agents were at work at the busiest moment, by the journals."""
    edges = []
    for run in runs:
        if run.state.started_at is not None and run.state.completed_at is not None:
            edges += [(run.state.started_at, 1), (run.state.completed_at, -1)]
    most = now = 0
    for _, step in sorted(edges):  # an end counts before a beginning of the same millisecond
        now += step
        most = max(most, now)
    return most


async def test_runs_of_several_launchers_share_the_slots_in_the_order_they_came(yard: Yard, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script: list[Action] = [waits_for(go), pauses(0.15), prints(*answer("done"))]
    with ExitStack() as stack:
        launchers = [stack.enter_context(yard.launcher()) for _ in range(LAUNCHERS)]
        launching = [asyncio.to_thread(_launch_many, yard, launchers[n], n, script) for n in range(LAUNCHERS)]
        watching = asyncio.create_task(_watch(yard, go))
        await asyncio.gather(watching, *launching)
    runs = yard.registry.runs()
    assert len(runs) == RUNS
    assert {run.state.status for run in runs} == {Status.COMPLETED}
    assert overlap(runs) <= LIMIT
    _check_order(runs)
    until(lambda: not (yard.queues() or yard.keepers()))
    assert yard.slots.queue_address is None
    assert not any(door.exists() for door in watching.result())
    told = [run.run_dir for run in yard.registry.unannounced() if mark_announced(run.run_dir)]
    assert len(told) == RUNS


def _launch_many(yard: Yard, launcher: subprocess.Popen[str], number: int, script: list[Action]) -> None:
    for _ in range(number, RUNS, LAUNCHERS):
        yard.launch_by(launcher, *script)


async def _watch(yard: Yard, go: Path) -> set[Path]:
    """Look again and again until all have ended: whatever the moment, no count is wrong. Returns the doors seen.

    Nobody ends before the first of them was seen: on a slow machine there might else never be one who waits.
    """
    over = 0
    doors: set[Path] = set()
    async with asyncio.timeout(2 * WAIT_S):  # they are many
        while over < RUNS:
            found = counts(await asyncio.to_thread(yard.registry.runs))
            assert found["failed"] == found["aborted"] == 0
            assert found["running"] + found["completed"] == found["total"] <= RUNS
            assert found["completed"] >= over, "a run that had ended is running again"
            over = found["completed"]
            # One that has given its place away already may still be leaving.
            await until_async(lambda: len(yard.keepers()) <= LIMIT)
            await until_async(lambda: len(yard.queues()) <= 1)
            if (door := yard.slots.queue_address) is not None:
                doors.add(door)
                await asyncio.to_thread(go.touch)
            await asyncio.sleep(0.05)
    return doors


def _check_order(runs: list[Run]) -> None:
    # Slots are given out in order, but whoever has one must start a process first, and so many do so at once; while
    # one takes twice as long as the others, all of these start, end, and make room for the next.
    created = sorted(runs, key=lambda run: (run.state.created_at, run.state.run_id))
    started = sorted(runs, key=lambda run: run.state.started_at or 0)
    for place, run in enumerate(started):
        assert abs(created.index(run) - place) <= 2 * LIMIT, "somebody pushed in"


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_with_one_place_the_runs_start_exactly_in_the_order_they_came(yard: Yard) -> None:
    run_dirs = [await yard.launch(prints(*answer(str(number)))) for number in range(6)]
    until(lambda: all(load_run(run_dir).status.is_terminal for run_dir in run_dirs))
    starts = [load_run(run_dir).started_at or 0 for run_dir in run_dirs]
    assert starts == sorted(starts)
    assert overlap(yard.registry.runs()) == 1


@pytest.mark.parametrize("yard", [2], indirect=True)
async def test_those_who_wait_cost_no_process_and_this_process_no_descriptor(yard: Yard, tmp_path: Path) -> None:
    working = [await yard.launch(pauses(300)) for _ in range(2)]
    before = descriptors()
    waiting = [await yard.launch(pauses(300)) for _ in range(38)]
    assert descriptors() == before
    until(lambda: all(load_run(run_dir).status is Status.RUNNING for run_dir in working))
    until(lambda: (len(yard.keepers()), len(yard.queues())) == (2, 1))
    details = await yard.status()
    assert details["counts"]["running"] == 40
    assert [row.get("queued", False) for row in details["runs"]].count(True) == 38
    # Only the queue has to go, and all who waited with it are told so.
    kill(yard.queues()[0])
    rows = {row["runId"]: row for row in (await yard.status(includeCompleted=True))["runs"]}
    assert {(rows[run.name]["status"], rows[run.name]["reason"]) for run in waiting} == {("failed", "lost")}
    assert {rows[run.name]["status"] for run in working} == {"running"}
    # A door without a queue does not keep the next one out.
    assert yard.slots.queue_address is not None
    late = await yard.launch(prints(*answer("after all")))
    assert (await yard.row(late))["queued"]
    yard.kill_keeper(working[0])
    assert (await yard.see_the_end(late))["finalText"] == "after all"


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_a_waiting_run_is_stopped_at_once_and_the_others_keep_their_turn(yard: Yard, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = await yard.launch(waits_for(gate), prints(*answer("first")))
    unwanted, third = [await yard.launch(prints(*answer(word))) for word in ("unwanted", "third")]
    until(lambda: load_run(first).status is Status.RUNNING)
    await yard.row(unwanted, stop=True)  # which does not wait for ever
    row = await yard.see_the_end(unwanted)
    assert (row["status"], row["reason"], row["startedAt"]) == ("aborted", "cancelled", None)
    assert load_run(first).status is Status.RUNNING
    gate.touch()
    assert (await yard.see_the_end(third))["finalText"] == "third"
    assert load_run(unwanted).text == ""


async def test_ended_keepers_are_collected(yard: Yard, tmp_path: Path) -> None:
    of_others = _children()  # that other tests have started for all of them
    run_dirs = [await yard.launch(waits_for(tmp_path / "go"), prints(*answer("done"))) for _ in range(4)]
    (tmp_path / "go").touch()  # not before: whoever launches a run collects those that have ended
    until(lambda: all(load_run(run_dir).status.is_terminal for run_dir in run_dirs))
    until(lambda: all(state_of(pid) == "Z" for pid in _children() - of_others))
    assert _children() - of_others  # nobody has asked yet
    await yard.status()
    assert not _children() - of_others


def _children() -> set[int]:
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
