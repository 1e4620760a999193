"""`background attach`: the live window of a run that goes on without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pi_subagents.store import load_run
from pi_subagents.testing import answer, prints
from pi_subagents.testing.agent import pauses, touches
from scripts.bootstrap import PROGRAMS
from tests.kit.waiting import until
from tests.surfaces.cli.background_desk import BackgroundDesk, short
from tests.surfaces.cli.session_desk import TIMEOUT_S
from tests.surfaces.live.tmux import Terminal

_TMUX = next(program for program in PROGRAMS if program.apt_package == "tmux")
needs_tmux = pytest.mark.skipif(
    _TMUX.is_missing,
    reason=f"not run, because the program is not installed: {_TMUX.commands[0]} ({_TMUX.used_for})",
)
NOTICE = "Background agent"


@pytest.fixture
def desk(background_desk: BackgroundDesk) -> BackgroundDesk:
    return background_desk


@pytest.fixture
def open_terminal(desk: BackgroundDesk) -> Iterator[Callable[[], Terminal]]:
    with ExitStack() as terminals:

        def opened() -> Terminal:
            terminal = Terminal(desk.project, desk.environ, 140, 24)
            terminals.callback(terminal.close)
            return terminal

        yield opened


@needs_tmux
def test_attach_shows_the_live_window_and_q_leaves_the_run_alone(
    desk: BackgroundDesk, open_terminal: Callable[[], Terminal]
) -> None:
    ready = desk.root / "ready"
    run_dir = desk.launch(prints(*answer("I am at work.")[:-2]), touches(ready), pauses(300))
    until(ready.exists, "the agent is at work")
    terminal = open_terminal()
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.until_shown("x stop • q leave it running")
    terminal.press("q")
    assert f"Run {short(run_dir)} is still running." in terminal.until_prompt()
    assert load_run(run_dir).status == "running"
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.press("C-c")
    assert f"Run {short(run_dir)} is still running." in terminal.until_prompt()
    assert load_run(run_dir).status == "running"
    terminal.run("background", "attach", run_dir.name)
    terminal.until_shown("I am at work.")
    terminal.press("x")
    terminal.until_shown("? y yes • any other key no")
    terminal.press("y")
    assert f"Run {short(run_dir)} has ended: ✗ aborted (cancelled)" in terminal.until_prompt()
    assert load_run(run_dir).reason == "cancelled"


def test_attach_in_a_pipe_prints_lines_until_the_end(desk: BackgroundDesk) -> None:
    run_dir = desk.launch_patient()
    attached = desk.start("background", "attach", run_dir.name)
    assert attached.stderr is not None
    assert attached.stderr.readline().endswith(": Started\n")
    desk.go()
    out, err = attached.communicate(timeout=TIMEOUT_S)
    assert (attached.returncode, out) == (0, f"Run {short(run_dir)} has ended: ✓ completed\n")
    assert "Done at last." in err
    assert NOTICE not in err
