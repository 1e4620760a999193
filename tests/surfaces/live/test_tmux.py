"""The live view in a real terminal: tmux, the real pi, and a person who presses keys and resizes the window."""

from __future__ import annotations

import time

import pytest

from pi_subagents.offline import Fail, Hang, Script, Turn, Usage
from pi_subagents.surfaces.live.view import FRAME_S
from tests.kit.waiting import until
from tests.pi.stage import Play, processes_below
from tests.surfaces.live.watching import (
    NAMES,
    TALK,
    WAITING,
    Open,
    assert_history_is_whole,
    assert_shell_is_sane,
    count,
    is_marked_down_to_the_summary,
    is_whole,
    marked,
    needs_tmux,
    once,
    start,
)

pytestmark = needs_tmux


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (200, 60)])
def test_every_size_shows_each_window_once_and_leaves_a_sane_shell(
    play: Play, open_terminal: Open, columns: int, rows: int
) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, columns, rows)
    start(terminal)
    wanted = ["Sub-agents: 3 running", " • x stop • d detach • q "]
    if columns >= 80:
        wanted += ["1 tool • ", "1.1k tokens • $0.0012", "→ ls → ."]
    # A screen may be looked at in the middle of a frame: everything has to be on the same one.
    screen = terminal.until_screen(
        lambda screen: all(text in screen for text in wanted) and count(screen, *NAMES) == once(*NAMES),
        f"{wanted} and every window once",
    )
    assert len(screen.splitlines()) <= rows
    terminal.press("C-c")
    everything = terminal.until_prompt()
    assert_history_is_whole(everything)
    assert "Sub-agents: 3 aborted" in everything
    assert everything.count("✗ 1: alpha") == 1
    assert "x stop" not in everything  # the frame is gone
    assert processes_below(stage.project) == [] or all("bash" in line for line in processes_below(stage.project))
    assert_shell_is_sane(terminal)


@pytest.mark.parametrize("size", [(79, 24), (70, 24), (60, 24), (80, 23), (80, 20), (80, 40), (100, 28), (200, 24)])
def test_a_resize_neither_wipes_nor_repeats_anything(play: Play, open_terminal: Open, size: tuple[int, int]) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    start(terminal)
    terminal.resize(*size)
    terminal.until(
        lambda: is_whole(everything := terminal.everything()) and count(everything, *NAMES) == once(*NAMES),
        "every window is there once, and the history is whole",
    )
    terminal.press("C-c")
    assert_history_is_whole(terminal.until_prompt())


def test_a_resize_to_a_fraction_wipes_nothing_and_shows_every_window_once(play: Play, open_terminal: Open) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    start(terminal)
    terminal.resize(40, 10)
    terminal.until_screen(lambda screen: count(screen, *NAMES) == once(*NAMES), "every window is on the screen once")
    terminal.until(lambda: is_whole(terminal.everything()), "the history is whole")
    for columns, rows in ((80, 24), (30, 1), (120, 30), (2, 2), (80, 24)):
        terminal.resize(columns, rows)
        time.sleep(4 * FRAME_S)
    # What a terminal has moved into its scrollback cannot be taken back; but it is ours, and stands above the frame.
    terminal.until_screen(lambda screen: min(count(screen, *NAMES).values()) >= 1, "every window is shown")
    terminal.until(lambda: is_whole(terminal.everything()), "the history is whole")
    terminal.press("C-c")
    everything = terminal.until_prompt()
    assert_history_is_whole(everything)
    assert everything.count("✗ 1: alpha") == 1


def test_the_keys(play: Play, open_terminal: Open) -> None:
    talkative = Turn("\n".join(f"line {number}" for number in range(40)), calls=TALK.calls)
    terminal = open_terminal(play(Script().otherwise([talkative, Hang("Now I wait for you.")])), 80, 24)
    start(terminal)
    terminal.until_screen(lambda screen: ": alpha" in marked(screen), "the first is selected")
    terminal.press("Down")
    terminal.until_screen(lambda screen: ": beta" in marked(screen), "the second is selected")
    terminal.press("Up", "Up")
    # Counted where all of its rows are marked, and not in the middle of a frame.
    collapsed = terminal.until_screen(
        lambda screen: ": gamma" in marked(screen) and is_marked_down_to_the_summary(screen), "the last is selected"
    ).count("▌")
    terminal.press("C-o")
    terminal.until_screen(
        lambda screen: screen.count("▌") > collapsed and count(screen, *NAMES) == once(*NAMES), "it is expanded"
    )
    terminal.press("C-o")
    terminal.until_screen(lambda screen: screen.count("▌") == collapsed, "it is collapsed")
    terminal.press("x")
    terminal.until_shown("Stop 3: gamma? y yes")
    terminal.press("n")
    terminal.until_shown("↑↓ select", "3 running")
    terminal.press("x", "y")
    terminal.until_shown("✗ 3: gamma", "Sub-agents: 2 running, 1 aborted")
    terminal.press("q")
    terminal.until_shown("Stop all sub-agents?")
    terminal.press("n")
    terminal.until_shown("↑↓ select", "2 running")
    terminal.press("q", "q")
    everything = terminal.until_prompt()
    assert "Sub-agents: 3 aborted" in everything
    assert_history_is_whole(everything)
    assert_shell_is_sane(terminal)


def test_finished_ones_become_a_line_of_history_and_a_failure_says_why(play: Play, open_terminal: Open) -> None:
    done = Turn("All good.", usage=Usage(10, 10))
    script = Script().when("good", [done]).when("bad", [Fail(400, "the model is out of order")])
    terminal = open_terminal(play(script.otherwise([Hang("Still at it.")])), 80, 24)
    terminal.run("run", "-j", "4", *[f"good {number}" for number in range(6)], "bad", "slow")
    # Several have finished: an estimate can be given of what is left.
    screen = terminal.until_shown("1 running, 6 completed, 1 failed", "━━━━━━━━── 7/8", " left")
    for number in range(6):
        assert screen.count(f"✓ {number + 1}: good {number} • ") == 1
    failed = until(lambda: [line for line in terminal.painted().splitlines() if "out of order" in line])
    assert "\x1b[31m" in failed[0]  # red
    terminal.press("C-c")
    assert "Sub-agents: 6 completed, 1 failed, 1 aborted" in terminal.until_prompt()
