"""Holders that are stopped, robbed of their lease, or whose clock jumps: the truth is told all the same.

`scripts/soak` repeats this with new chances; killed holders, keepers and guards are attacked elsewhere.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from pi_subagents.models import Reason, Status
from pi_subagents.place import Place
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, load_run
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import Stage
from tests.recovery.kit import Holders, check_truth, ends_in, kill_after
from tests.recovery.test_kill_matrix import work

SEED = int(os.environ.get("SOAK_SEED", "0"))
ATTACKS = int(os.environ.get("SOAK_TRIES", "4"))
WAIT_S = PATIENCE_S


def begin(stage: Stage, holders: Holders, **order: int) -> tuple[int, Path]:
    """A holder at work, and its run."""
    before = set(stage.run_dirs)
    pid = holders.start(stage, work(steps=6, pause_s=0.02), **order)
    until(lambda: set(stage.run_dirs) - before)
    (run_dir,) = set(stage.run_dirs) - before
    return pid, run_dir


def see_the_end(stage: Stage, run_dir: Path, pid: int) -> None:
    """The run is completed, and that is its only end."""
    kill_after(pid, WAIT_S)
    assert load_run(run_dir).status is Status.COMPLETED
    assert ends_in(run_dir) == 1
    until(lambda: not stage.processes())


@pytest.mark.parametrize("seed", range(2))
def test_a_holder_stopped_at_random_is_at_work_and_goes_on(seed: int, stage: Stage, holders: Holders) -> None:
    chance = random.Random(seed + SEED)
    for _ in range(ATTACKS):
        pid, run_dir = begin(stage, holders)
        for _ in range(3):
            time.sleep(chance.uniform(0, 0.1))
            _signal(pid, signal.SIGSTOP)
            before = (run_dir / JOURNAL_FILE).read_bytes()
            assert load_run(run_dir).reason is not Reason.LOST
            assert (run_dir / JOURNAL_FILE).read_bytes().startswith(before)
            _signal(pid, signal.SIGCONT)
        see_the_end(stage, run_dir, pid)


@pytest.mark.parametrize("seed", range(2))
def test_a_lease_removed_at_random_costs_a_live_run_nothing(seed: int, stage: Stage, holders: Holders) -> None:
    chance = random.Random(seed + SEED)
    for _ in range(ATTACKS):
        pid, run_dir = begin(stage, holders)
        time.sleep(chance.uniform(0, 0.2))
        (run_dir / LEASE_FILE).unlink(missing_ok=True)
        if chance.random() < 0.5:  # another file in its place locks nothing
            (run_dir / LEASE_FILE).touch(mode=0o600)
        assert load_run(run_dir).reason is not Reason.LOST
        see_the_end(stage, run_dir, pid)


@pytest.mark.parametrize("seed", range(2))
def test_a_holder_whose_clock_jumps_at_random_is_told_truly_alive_or_killed(
    seed: int, stage: Stage, holders: Holders
) -> None:
    chance = random.Random(seed + SEED)
    for _ in range(ATTACKS):
        pid, _run_dir = begin(stage, holders, clock=chance.randint(1, 1 << 30))
        kill_after(pid, chance.choice([WAIT_S, chance.uniform(0, 0.2)]))
    states = check_truth(stage)
    listed = list_sessions(Place.here(stage.project, stage.environ), Wanted(stage.project, limit=1000))
    assert Counter(session.state.status for session in listed) == Counter(state.status for state in states)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
