"""A background run outlives whoever launched it, and is found and told again."""

from __future__ import annotations

import os
import pty
import signal
from pathlib import Path

import pytest

from pi_subagents.runs.background import mark_announced
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import pauses, repeats_steering, touches, waits_for
from tests.background.kit import Yard
from tests.kit.waiting import PATIENCE_S, until


def stat_of(process: Path) -> list[int]:
    """Group, session and terminal of a process."""
    return [int(field) for field in (process / "stat").read_text().rpartition(")")[2].split()[2:5]]


async def test_a_launch_returns_at_once_and_the_run_completes_after_its_launcher_was_killed(
    yard: Yard, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    with yard.launcher() as launcher:
        await yard.see_the_end(yard.launch_by(launcher, prints(*answer("warm"))))
        run_dir = yard.launch_by(launcher, waits_for(gate), prints(*answer("I went on")))
        assert (await yard.row(run_dir))["status"] == "running"
        launcher.kill()
        launcher.wait()
    assert (await yard.status())["counts"]["running"] == 1
    gate.touch()
    row = await yard.see_the_end(run_dir)
    assert (row["status"], row["finalText"]) == ("completed", "I went on")
    told = [run.run_dir for run in yard.registry.unannounced() if mark_announced(run.run_dir)]
    assert run_dir in told
    assert yard.registry.unannounced() == []


async def test_a_keeper_has_a_session_of_its_own_and_no_terminal(yard: Yard) -> None:
    run_dir = await yard.launch(pauses(300))
    keeper = until(lambda: yard.keeper_of(run_dir))
    process = Path(f"/proc/{keeper}")
    group, session, terminal = stat_of(process)
    assert (group, session, terminal) == (keeper, keeper, 0)
    assert [str((process / "fd" / fd).readlink()) for fd in "012"] == [os.devnull] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_to_the_launchers_group_does_not_reach_the_run(yard: Yard, number: int) -> None:
    with yard.launcher(start_new_session=True) as launcher:
        run_dir = yard.launch_by(launcher, repeats_steering())
        os.killpg(launcher.pid, number)
        launcher.wait(PATIENCE_S)
    until(lambda: (run_dir / "control").exists())
    assert (await yard.row(run_dir))["status"] == "running"


async def test_a_closed_terminal_does_not_reach_the_run(yard: Yard, tmp_path: Path) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    ours, theirs = pty.openpty()
    # The launcher leads a session whose terminal is the pseudo-terminal: closing our end hangs it up.
    with yard.launcher(start_new_session=True, stderr=theirs, preexec_fn=_take_terminal) as launcher:
        os.close(theirs)
        run_dir = yard.launch_by(launcher, touches(begun), waits_for(gate), prints(*answer("still here")))
        until(begun.exists)
        os.close(ours)
        assert launcher.wait(PATIENCE_S) == -signal.SIGHUP
    gate.touch()
    assert (await yard.see_the_end(run_dir))["finalText"] == "still here"


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(2, termios.TIOCSCTTY, 0)


async def test_a_keeper_that_is_asked_to_end_stops_its_run_truthfully(yard: Yard) -> None:
    run_dir = await yard.launch(pauses(300))
    until(lambda: (run_dir / "control").exists())
    keeper = yard.keeper_of(run_dir)
    assert keeper is not None
    os.kill(keeper, signal.SIGTERM)
    row = await yard.see_the_end(run_dir)
    assert (row["status"], row["reason"]) == ("aborted", "cancelled")
    until(lambda: not yard.stage.processes())
