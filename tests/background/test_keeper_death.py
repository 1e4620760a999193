"""However a keeper dies, the first who asks is told the truth, and nothing of the agent is left."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models import Reason, Status, Task
from pi_subagents.outcome import LOST_SENTENCE
from pi_subagents.runs.sessions import Sessions
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, is_held, load_run, read_journal
from pi_subagents.testing.agent import Action, leaves_behind, pauses, prints, waits_for
from pi_subagents.testing.records import answer, assistant
from tests.background.kit import Yard, descriptors
from tests.kit.processes import kill
from tests.kit.waiting import until, until_async

KILLS = 20
TOGETHER = 5
ROUNDS = 2
POOL = 2
"""Descriptors that the event loop opens with its first thread or child, once."""

WORK: list[Action] = [
    prints(assistant("step 1")),
    leaves_behind(daemon=True),
    pauses(0.05),
    prints(assistant("step 2")),
    pauses(0.1),
    prints(*answer("finished")),
]


ENDLESS: list[Action] = [*WORK[:-1], pauses(300)]


def ends_in(journal: bytes) -> int:
    return sum(b'"type":"ended"' in line for line in journal.splitlines())


def complete_lines(run_dir: Path) -> bytes:
    data = (run_dir / JOURNAL_FILE).read_bytes()
    return data[: data.rfind(b"\n") + 1]


@pytest.mark.parametrize("yard", [KILLS], indirect=True)
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_a_keeper_killed_at_random_is_told_as_lost_by_the_first_status_call(seed: int, yard: Yard) -> None:
    chance = random.Random(seed + int(os.environ.get("SOAK_SEED", "0")))
    before = descriptors()
    # Every third works until it is killed: how many of the others do so is a matter of the machine.
    moments = [(number % 3 == 0, chance.random() < 0.6, chance.uniform(0, 0.25)) for number in range(KILLS)]
    killed = []
    for first in range(0, KILLS, TOGETHER):
        batch = moments[first : first + TOGETHER]
        killed += await asyncio.gather(*(_launch_and_kill(yard, *moment) for moment in batch))
    # A child that a keeper was about to turn into an agent has its lease until then.
    await until_async(lambda: not any(is_held(run_dir) for run_dir, _ in killed))
    rows = {row["runId"]: row for row in (await yard.status(includeCompleted=True))["runs"]}
    for run_dir, journal in killed:
        _check_truth(rows[run_dir.name], run_dir, journal)
    lost = [row for row in rows.values() if row["reason"] == "lost"]
    assert len(rows) == KILLS
    assert len(lost) > KILLS // 4, "hardly any run was killed while it worked"
    until(lambda: not yard.stage.processes())
    await _resume(yard, chance.choice(lost)["sessionId"])
    assert descriptors() <= before + POOL


async def _launch_and_kill(yard: Yard, endless: bool, begins: bool, delay_s: float) -> tuple[Path, bytes]:
    run_dir = await yard.launch(*(ENDLESS if endless else WORK))
    if begins or endless:  # the others are killed before the agent has started, or soon after
        started = lambda: b'"type":"started"' in (run_dir / JOURNAL_FILE).read_bytes()  # noqa: E731
        await until_async(started)
    await asyncio.sleep(delay_s)
    if (keeper := yard.keeper_of(run_dir)) is not None:
        kill(keeper)
    return run_dir, complete_lines(run_dir)


def _check_truth(row: dict[str, object], run_dir: Path, before: bytes) -> None:
    after = (run_dir / JOURNAL_FILE).read_bytes()
    assert after.startswith(before), "a journalled event is missing"
    assert ends_in(after) == 1
    assert list(read_journal(run_dir / JOURNAL_FILE))
    assert not is_held(run_dir)
    if b'"reason":"settled"' in before:  # it was quicker than the kill
        assert (row["status"], row["reason"]) == ("completed", "settled")
    else:
        assert (row["status"], row["reason"], row["error"]) == ("failed", "lost", LOST_SENTENCE)
    assert json.loads((run_dir / "result.json").read_text())["status"] == row["status"]


async def _resume(yard: Yard, session_id: str) -> None:
    (result,) = await Delegation([Task("again", "go on", resume=session_id)], place=yard.place)
    assert (result.ok, result.session_id) == (True, session_id)
    assert "Previously:" in result.output
    assert len(Sessions(yard.place).find(session_id).runs) == 2


@pytest.mark.parametrize("yard", [3], indirect=True)
async def test_after_a_reboot_nothing_is_running_and_everything_can_be_read_and_resumed(yard: Yard) -> None:
    said: list[Action] = [prints(assistant("half way")), leaves_behind(), pauses(300)]
    working = [await yard.launch(*said) for _ in range(3)]
    waiting = [await yard.launch(*said) for _ in range(3)]
    until(lambda: all(b'"role":"assistant"' in complete_lines(run_dir) for run_dir in working))
    assert (await yard.status())["counts"] == {"running": 6, "completed": 0, "failed": 0, "aborted": 0, "total": 6}
    journals = {run_dir: complete_lines(run_dir) for run_dir in (*working, *waiting)}
    yard.kill_everybody()
    details = await yard.status(includeCompleted=True)
    assert details["counts"] == {"running": 0, "completed": 0, "failed": 6, "aborted": 0, "total": 6}
    assert {row["reason"] for row in details["runs"]} == {"lost"}
    assert [row["finalText"] for row in details["runs"]] == ["half way"] * 3 + [None] * 3
    for run_dir, before in journals.items():
        assert (run_dir / JOURNAL_FILE).read_bytes().startswith(before)
    await _resume(yard, details["runs"][0]["sessionId"])
    await _resume(yard, details["runs"][-1]["sessionId"])
    again = await yard.launch(prints(*answer("after")))
    assert (await yard.see_the_end(again))["status"] == "completed"


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_the_place_of_a_killed_keeper_is_free_again(yard: Yard) -> None:
    first = await yard.launch(pauses(300))
    second = await yard.launch(prints(*answer("my turn")))
    yard.kill_keeper(first)
    assert (await yard.see_the_end(second))["finalText"] == "my turn"
    (run,) = [run for run in yard.registry.runs() if run.run_dir == first]
    assert (run.state.status, run.state.reason) == (Status.FAILED, Reason.LOST)


@pytest.mark.parametrize("yard", [1], indirect=True)
async def test_background_runs_at_work_and_in_the_queue_are_alive_without_their_lease_files(
    yard: Yard, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    working, waiting = [await yard.launch(waits_for(gate), prints(*answer("finished"))) for _ in range(2)]
    until(lambda: yard.keeper_of(working) is not None)
    for run_dir in (working, waiting):
        (run_dir / LEASE_FILE).unlink()
        assert not load_run(run_dir).status.is_terminal
    gate.touch()
    for run_dir in (working, waiting):
        assert (await yard.see_the_end(run_dir))["status"] == "completed"
        assert ends_in((run_dir / JOURNAL_FILE).read_bytes()) == 1


async def test_a_killed_keeper_without_its_lease_file_is_lost_and_not_alive(yard: Yard) -> None:
    run_dir = await yard.launch_at_work()
    (run_dir / LEASE_FILE).unlink()
    yard.kill_keeper(run_dir)
    assert load_run(run_dir).reason is Reason.LOST
    assert ends_in((run_dir / JOURNAL_FILE).read_bytes()) == 1
