"""The program in a real terminal of 80×24, with a run of another process in front of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.models import Status
from pi_subagents.models import event as ev
from pi_subagents.store import is_held, load_run, session_runs
from pi_subagents.testing import SCRIPT_VARIABLE, answer, script
from pi_subagents.testing.agent import pauses, prints, touches, waits_for
from pi_subagents.testing.records import assistant, delta, tool_call
from tests.kit.processes import is_alive
from tests.kit.sessions import says
from tests.kit.waiting import until
from tests.surfaces.cli.desk import TIMEOUT_S, Desk
from tests.surfaces.live.tmux import Terminal
from tests.surfaces.live.watching import needs_tmux

pytestmark = needs_tmux


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.shelf.close()


@pytest.fixture
def terminal(desk: Desk) -> Iterator[Terminal]:
    terminal = Terminal(desk.project, desk.environ, 80, 24)
    yield terminal
    terminal.close()


def test_a_run_of_another_process_is_seen_read_and_stopped(desk: Desk, terminal: Terminal) -> None:
    desk.shelf.add(says("All **done**"), name="yesterday")
    terminal.run("watch")
    terminal.until_shown("✓ yesterday •")
    call = prints(assistant("I begin.", tool_call("bash", command="make tea")), delta("Pouring the wat"))
    holder = desk.start_command("run", "--json", script(call, pauses(300)))
    screen = terminal.until_shown("Sub-agents: 1 running, 1 completed", "q Quit")
    assert len(screen.splitlines()) <= 24
    terminal.press("Home")
    terminal.until_shown("Pouring the wat")
    terminal.until_shown("▶ → bash → make tea")
    terminal.press("x")
    terminal.until_shown("Stop it (y)")
    terminal.press("y")
    holder.communicate(timeout=TIMEOUT_S)
    terminal.until_shown("1 completed, 1 aborted")
    terminal.press("q")
    assert "watch" not in terminal.until_prompt()
    assert terminal.cursor_is_visible()


def test_a_signal_leaves_a_sane_shell(desk: Desk, terminal: Terminal) -> None:
    terminal.run("watch", redirect="; echo left $?", before=f"echo $$ > {desk.root}/shell; ")
    terminal.until_shown("No runs yet.")
    (watch,) = _children(int((desk.root / "shell").read_text()))
    os.kill(watch, signal.SIGTERM)
    assert "left 143" in terminal.until_prompt()
    assert terminal.cursor_is_visible()
    terminal.type("echo still here")
    assert "still here" in terminal.until_prompt()


def test_it_works_on_after_ctrl_z_and_fg(desk: Desk, terminal: Terminal) -> None:
    desk.shelf.add(says("All **done**"), name="yesterday")
    terminal.run("watch")
    before = terminal.until_shown("✓ yesterday •", "All done", "q Quit")
    terminal.press("C-z")
    assert "Stopped" in terminal.until_prompt()
    assert terminal.cursor_is_visible()
    terminal.type("fg", clear=False)
    assert terminal.until_shown("✓ yesterday •", "All done", "q Quit").splitlines()[-1] == before.splitlines()[-1]
    terminal.press("q")
    assert "All done" not in terminal.until_prompt()


def test_what_was_resumed_there_goes_on_when_it_is_killed(desk: Desk) -> None:
    kept = desk.shelf.add(says("x"), name="yesterday")
    ready, go = desk.root / "ready", desk.root / "go"
    play = script(touches(ready), waits_for(go), prints(*answer("Done at last.")))
    terminal = Terminal(desk.project, {**desk.environ, SCRIPT_VARIABLE: play}, 80, 24)
    try:
        terminal.run("watch", before=f"echo $$ > {desk.root}/shell; ")
        terminal.until_shown("✓ yesterday •")
        terminal.press("r")
        terminal.until_shown("enter: resume")
        terminal.press("G", "o", "Enter")
        terminal.until(ready.exists, "the agent is at work")
        (watch,) = _children(int((desk.root / "shell").read_text()))
        os.kill(watch, signal.SIGKILL)
        terminal.until(lambda: not is_alive(watch), "watch is gone")
    finally:
        terminal.close()
    _earlier, run_dir = session_runs(kept.run_dir.parent, kept.session_id)
    assert is_held(run_dir)
    go.touch()
    until(lambda: not is_held(run_dir), "the run is over")
    assert (load_run(run_dir).status, load_run(run_dir).text) == (Status.COMPLETED, "Done at last.")


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_it_ends_with_its_terminal_however_much_it_has_to_draw(desk: Desk, terminal: Terminal) -> None:
    kept = desk.shelf.add(says("I begin."), name="talker", ends=None)
    terminal.run("watch", before=f"echo $$ > {desk.root}/shell; ")
    terminal.until_shown("I begin.")
    (watch,) = _children(int((desk.root / "shell").read_text()))
    closing = threading.Thread(target=terminal.close)
    closing.start()
    deadline = time.monotonic() + TIMEOUT_S
    while is_alive(watch):
        assert time.monotonic() < deadline, "it outlives its terminal"
        kept.append(ev.Delta(kind="text", text="Still talking. " * 20))
        time.sleep(0.02)
    closing.join()
