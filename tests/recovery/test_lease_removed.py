"""A lease that is taken from under a live holder, by its agent or by anybody else, does not make it dead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pi_subagents.models import Reason, Status
from pi_subagents.store import JOURNAL_FILE, LEASE_FILE, load_run
from pi_subagents.testing.agent import prints, waits_for
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, assistant
from tests.kit.waiting import PATIENCE_S, until
from tests.process.kit import Stage
from tests.recovery.kit import Holders, kill_after

READERS = 5


def tell_status(run_dir: Path) -> str:
    """What another process is told."""
    code = "import sys; from pathlib import Path; from pi_subagents.store import load_run; "
    code += "print(load_run(Path(sys.argv[1])).status)"
    done = subprocess.run([sys.executable, "-c", code, str(run_dir)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def ends_in(run_dir: Path) -> int:
    return sum(b'"type":"ended"' in line for line in (run_dir / JOURNAL_FILE).read_bytes().splitlines())


def work_until(gate: Path) -> list[list[object]]:
    return [
        prints(AGENT_START, assistant("half way")),
        waits_for(gate),
        prints(assistant("finished"), agent_end(), AGENT_SETTLED),
    ]


def has_said(run_dir: Path) -> bool:
    return b'"role":"assistant"' in (run_dir / JOURNAL_FILE).read_bytes()


def test_a_live_run_without_its_lease_file_is_running_and_ends_once(
    stage: Stage, holders: Holders, tmp_path: Path
) -> None:
    pid = holders.start(stage, work_until(tmp_path / "gate"))
    until(lambda: stage.run_dirs and has_said(stage.run_dirs[0]))
    (run_dir,) = stage.run_dirs
    (run_dir / LEASE_FILE).unlink()
    assert {tell_status(run_dir) for _ in range(READERS)} == {"running"}
    (tmp_path / "gate").touch()
    kill_after(pid, PATIENCE_S)
    assert load_run(run_dir).status is Status.COMPLETED
    assert ends_in(run_dir) == 1


def test_a_run_whose_holder_dies_after_its_lease_file_is_closed_once(
    stage: Stage, holders: Holders, tmp_path: Path
) -> None:
    pid = holders.start(stage, work_until(tmp_path / "gate"))
    until(lambda: stage.run_dirs and has_said(stage.run_dirs[0]))
    (run_dir,) = stage.run_dirs
    (run_dir / LEASE_FILE).unlink()
    assert load_run(run_dir).status is Status.RUNNING
    kill_after(pid, 0)
    for _ in range(2):
        assert load_run(run_dir).reason is Reason.LOST
    assert ends_in(run_dir) == 1
