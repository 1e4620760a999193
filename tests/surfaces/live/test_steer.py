"""Steering agents in the foreground: with `s` in the live view, and from another terminal."""

from __future__ import annotations

import json

from tests.kit.waiting import until
from tests.pi.stage import Play, Stage
from tests.surfaces.live.test_detach import PATIENT, statuses
from tests.surfaces.live.tmux import Terminal
from tests.surfaces.live.watching import Open, needs_tmux

pytestmark = needs_tmux


def send(terminal: Terminal, words: str) -> None:
    """Steer the selected agent."""
    terminal.press("s")
    terminal.until_shown("Tell ", "enter sends")
    terminal.enter(words)


def let_go(stage: Stage) -> str:
    """Let the agents finish; what the model was told in all."""
    (stage.project / "go").touch()
    until(lambda: {*statuses(stage)} == {"completed"}, "all are completed", lambda: str(statuses(stage)))
    return json.dumps([request.body for request in stage.model.requests])


def test_the_selected_agent_is_told_what_somebody_types_whatever_the_letters_mean(
    play: Play, open_terminal: Open
) -> None:
    stage = play(PATIENT)
    terminal = open_terminal(stage, 100, 30)
    terminal.run("run", "alpha", "beta")
    terminal.until_shown("2 running", "s steer")
    terminal.until_screen(lambda screen: screen.count("→ bash") == 2, "both are at work")
    terminal.press("Down")
    send(terminal, "xq: look left")
    shown = terminal.until_shown("Told 2: beta: xq: look left", "2 running", "s steer")
    assert "Tell " not in shown
    told = let_go(stage)
    terminal.until_prompt()
    assert told.count("xq: look left") == 1


def test_a_line_that_is_given_up_is_not_sent_and_one_that_comes_too_late_says_so(
    play: Play, open_terminal: Open
) -> None:
    stage = play(PATIENT)
    terminal = open_terminal(stage, 100, 30)
    terminal.run("run", "-j", "1", "alpha", "beta")
    terminal.until_shown("1 running, 1 waiting", "→ bash")
    terminal.press("s")
    terminal.press("n", "o")
    terminal.until_shown("Tell 1: alpha: no")
    terminal.press("Escape")
    terminal.until_screen(lambda screen: "Tell" not in screen and "s steer" in screen, "the line is gone")
    terminal.press("s")
    terminal.until_shown("Tell 1: alpha: ")
    (stage.project / "go").touch()
    until(lambda: "completed" in statuses(stage), "alpha is completed")
    terminal.enter("too late")
    everything = terminal.until_prompt()
    assert "Not told 1: alpha, because the agent has already finished: too late" in everything
    assert "too late" not in let_go(stage)


def test_an_agent_in_the_foreground_is_steered_from_another_terminal(play: Play, open_terminal: Open) -> None:
    stage = play(PATIENT)
    terminal = open_terminal(stage, 100, 30)
    terminal.run("run", "alpha")
    terminal.until_shown("→ bash")
    (run_dir,) = stage.run_dirs
    done = stage.command("steer", run_dir.name.rpartition("-")[2][:8], "look right")
    assert done.returncode == 0, done.stderr
    assert let_go(stage).count("look right") == 1
    terminal.until_prompt()


def test_a_run_that_is_attached_to_is_steered_the_same_way(play: Play, open_terminal: Open) -> None:
    stage = play(PATIENT)
    started = stage.command("run", "--background", "alpha")
    assert started.returncode == 0, started.stderr
    terminal = open_terminal(stage, 100, 30)
    terminal.run("background", "attach", stage.run_dirs[0].name)
    terminal.until_shown("→ bash", "q leave it running")
    send(terminal, "look up")
    terminal.until_shown("Told ", ": look up")
    assert let_go(stage).count("look up") == 1
    terminal.until_prompt()
