"""The live view in a real terminal: tmux, the real pi, and a person who presses keys and resizes the window."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pi_subagents.offline import Call, Fail, Hang, Script, Turn, Usage
from pi_subagents.surfaces.live.view import FRAME_S
from scripts.bootstrap import PROGRAMS
from tests.pi.stage import Play, Stage, processes_below
from tests.surfaces.live.tmux import PROMPT, Terminal

_PROGRAM = next(program for program in PROGRAMS if program.apt_package == "tmux")

pytestmark = pytest.mark.skipif(
    _PROGRAM.is_missing,
    reason=f"not run, because the program is not installed: {_PROGRAM.commands[0]} ({_PROGRAM.used_for})",
)

Open = Callable[[Stage, int, int], Terminal]

SIZES = [(80, 24), (40, 10), (200, 60)]
NAMES = ("alpha", "beta", "gamma")
LONG = "This answer is one long line, as models write them, and its end is what a person wants to see: the end."
TALK = Turn(f"{LONG}\nsecond\nthird", calls=(Call("ls", {"path": "."}),), usage=Usage(1000, 100))
WAITING = Script().otherwise([TALK, Hang("Now I wait for you.")])


def count(text: str, *names: str) -> dict[str, int]:
    """How many headers of each task there are."""
    return {name: sum(f": {name}" in line and " • " in line for line in text.splitlines()) for name in names}


def once(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)


def start(terminal: Terminal, *options: str, **how: str) -> str:
    """Start three agents that go on until they are stopped, below thirty lines of history."""
    terminal.run("run", *options, *NAMES, before="seq 101 130; ", **how)
    terminal.until(lambda: terminal.screen().count("Now I wait") >= 1, "the agents wait")
    terminal.until(lambda: "Sub-agents: 3 running" in terminal.screen(), "all run")
    return terminal.screen()


def assert_history_is_whole(everything: str) -> None:
    lines = everything.splitlines()
    assert [lines.count(str(number)) for number in range(101, 131)] == [1] * 30


def assert_shell_is_sane(terminal: Terminal) -> None:
    """Echo is on, a line is a line, and the cursor can be seen."""
    terminal.press("Enter")
    terminal.until_prompt()
    assert terminal.cursor_is_visible()
    terminal._tmux("send-keys", "-l", "echo to''gether")
    terminal.until_shown("echo to''gether")
    terminal.press("Enter")
    terminal.until_shown("\ntogether")


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_every_size_shows_each_window_once_and_leaves_a_sane_shell(
    play: Play, open_terminal: Open, columns: int, rows: int
) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, columns, rows)
    screen = start(terminal)
    assert count(screen, *NAMES) == once(*NAMES)
    assert "Sub-agents: 3 running" in screen
    assert "↑↓ select" in screen
    assert len(screen.splitlines()) <= rows
    if columns >= 80:
        assert "1 tool • " in screen
        assert "1.1k tokens • $0.0012" in screen
        assert "→ ls → ." in screen
    terminal.press("C-c")
    everything = terminal.until_prompt()
    assert_history_is_whole(everything)
    assert "Sub-agents: 3 error" in everything
    assert everything.count("✗ 1: alpha") == 1
    assert "select" not in everything  # the frame is gone
    assert processes_below(stage.project) == [] or all("bash" in line for line in processes_below(stage.project))
    assert_shell_is_sane(terminal)


def test_a_long_line_goes_on_in_the_next_row_so_that_its_end_is_seen(play: Play, open_terminal: Open) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    terminal.run("run", "alone")
    screen = terminal.until_shown("Now I wait")
    assert "wants to" in screen
    assert "see: the end." in screen
    terminal.press("C-c")
    terminal.until_prompt()


@pytest.mark.parametrize("size", [(79, 24), (70, 24), (60, 24), (80, 23), (80, 20), (80, 40), (100, 28), (200, 24)])
def test_a_resize_neither_wipes_nor_repeats_anything(play: Play, open_terminal: Open, size: tuple[int, int]) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    start(terminal)
    terminal.resize(*size)
    terminal.until(lambda: count(terminal.everything(), *NAMES) == once(*NAMES), "every window is there once")
    assert_history_is_whole(terminal.everything())
    terminal.press("C-c")
    assert_history_is_whole(terminal.until_prompt())


def test_a_resize_to_a_fraction_wipes_nothing_and_shows_every_window_once(play: Play, open_terminal: Open) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    start(terminal)
    terminal.resize(40, 10)
    terminal.until(lambda: count(terminal.screen(), *NAMES) == once(*NAMES), "every window is on the screen once")
    assert_history_is_whole(terminal.everything())
    for columns, rows in ((80, 24), (30, 1), (120, 30), (2, 2), (80, 24)):
        terminal.resize(columns, rows)
        time.sleep(4 * FRAME_S)
    # What a terminal has moved into its scrollback cannot be taken back; but it is ours, and stands above the frame.
    terminal.until(lambda: list(count(terminal.screen(), *NAMES).values()) >= [1, 1, 1], "every window is shown")
    assert_history_is_whole(terminal.everything())
    terminal.press("C-c")
    everything = terminal.until_prompt()
    assert_history_is_whole(everything)
    assert everything.count("✗ 1: alpha") == 1


def test_the_keys(play: Play, open_terminal: Open) -> None:
    talkative = Turn("\n".join(f"line {number}" for number in range(40)), calls=TALK.calls)
    terminal = open_terminal(play(Script().otherwise([talkative, Hang("Now I wait for you.")])), 80, 24)
    start(terminal)
    terminal.until_shown("▌")

    def selected() -> str:
        return next(line for line in terminal.screen().splitlines() if line.startswith("▌"))

    assert ": alpha" in selected()
    terminal.press("Down")
    terminal.until(lambda: ": beta" in selected(), "the second is selected")
    terminal.press("Up", "Up")
    terminal.until(lambda: ": gamma" in selected(), "the last is selected")
    collapsed = terminal.screen().count("▌")
    terminal.press("C-o")
    terminal.until(lambda: terminal.screen().count("▌") > collapsed, "it is expanded")
    assert count(terminal.screen(), *NAMES) == once(*NAMES)
    terminal.press("C-o")
    terminal.until(lambda: terminal.screen().count("▌") == collapsed, "it is collapsed")
    terminal.press("x")
    terminal.until_shown("✗ 3: gamma")
    assert "Sub-agents: 2 running, 1 error" in terminal.screen()
    terminal.press("q")
    terminal.until_shown("Stop all sub-agents?")
    terminal.press("n")
    terminal.until_shown("↑↓ select")
    assert "2 running" in terminal.screen()
    terminal.press("q", "q")
    everything = terminal.until_prompt()
    assert "Sub-agents: 3 error" in everything
    assert_history_is_whole(everything)
    assert_shell_is_sane(terminal)


def test_finished_ones_become_a_line_of_history_and_a_failure_says_why(play: Play, open_terminal: Open) -> None:
    done = Turn("All good.", usage=Usage(10, 10))
    script = Script().when("good", [done]).when("bad", [Fail(400, "the model is out of order")])
    terminal = open_terminal(play(script.otherwise([Hang("Still at it.")])), 80, 24)
    terminal.run("run", "-j", "4", *[f"good {number}" for number in range(6)], "bad", "slow")
    terminal.until_shown("Sub-agents: 1 running, 6 done, 1 error")
    screen = terminal.screen()
    assert "━━━━━━━━── 7/8" in screen
    assert " left" in screen  # several have finished: an estimate can be given
    for number in range(6):
        assert screen.count(f"✓ {number + 1}: good {number} • ") == 1
    failed = next(line for line in terminal.painted().splitlines() if "out of order" in line)
    assert "\x1b[31m" in failed  # red
    terminal.press("C-c")
    assert "Sub-agents: 6 done, 2 error" in terminal.until_prompt()


def test_ctrl_z_gives_the_shell_its_terminal_and_fg_brings_the_windows_back(play: Play, open_terminal: Open) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    start(terminal)
    terminal.press("C-z")
    terminal.until_shown("Stopped")
    assert_shell_is_sane(terminal)
    assert count(terminal.everything(), *NAMES) == dict.fromkeys(NAMES, 0)
    terminal._tmux("send-keys", "-l", "fg")
    terminal.press("Enter")
    terminal.until(lambda: count(terminal.screen(), *NAMES) == once(*NAMES), "the windows are back")
    terminal.press("Down")
    terminal.until(lambda: "▌" in terminal.screen() and ": beta" in _marked(terminal), "keys work again")
    terminal.press("q", "y")
    terminal.until_prompt()
    assert_history_is_whole(terminal.everything())
    assert_shell_is_sane(terminal)


def _marked(terminal: Terminal) -> str:
    return next((line for line in terminal.screen().splitlines() if line.startswith("▌")), "")


def test_in_the_background_nothing_is_drawn_over_the_shell(play: Play, open_terminal: Open) -> None:
    stage = play(Script().otherwise([Turn("Done in the background.", delay_s=1)]))
    terminal = open_terminal(stage, 80, 24)
    terminal.run("run", "alone", redirect=" > out.txt &")
    terminal.until(lambda: "Sub-agents" in terminal.everything(), "it ends")
    assert "ctrl+o" not in terminal.everything()
    assert "✓ 1: alone" in terminal.everything()
    assert_shell_is_sane(terminal)


def test_with_stdout_in_a_file_and_the_prompt_from_a_pipe_the_view_still_works(play: Play, open_terminal: Open) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, 80, 24)
    terminal.run("run", "-", "second", before="echo from a pipe | ", redirect=" > out.txt")
    screen = terminal.until_shown("Sub-agents: 2 running")
    assert "ctrl+c stops all" in screen  # nobody can press keys
    assert "▌" not in screen
    terminal.press("C-c")
    everything = terminal.until_prompt()
    assert "Sessions: 1: from a pipe " in everything
    assert "1: from a pipe" in (stage.project / "out.txt").read_text()
    assert "\x1b" not in (stage.project / "out.txt").read_text()


def test_sigterm_leaves_a_sane_terminal(play: Play, open_terminal: Open) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, 80, 24)
    start(terminal)
    os.kill(_pid_of_command(stage), signal.SIGTERM)
    everything = terminal.until_prompt()
    assert_history_is_whole(everything)
    assert "select" not in everything
    assert_shell_is_sane(terminal)


def _pid_of_command(stage: Stage) -> int:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = process.joinpath("cmdline").read_bytes().split(b"\0")
            if b"pi_subagents" in command and process.joinpath("cwd").readlink() == stage.project:
                return int(process.name)
        except OSError:
            continue
    raise AssertionError("the command is not running")


@pytest.mark.parametrize(("variables", "options"), [("NO_COLOR=1 ", ()), ("TERM=dumb ", ()), ("", ("--plain",))])
def test_plain_lines_on_a_terminal_have_no_escapes(
    play: Play, open_terminal: Open, variables: str, options: tuple[str, ...]
) -> None:
    stage = play(Script().when("bad", [Fail(400, "no")]).otherwise([TALK, Turn("Done.")]))
    terminal = open_terminal(stage, 100, 30)
    recording = stage.root / "recording"
    terminal.type(f"{variables}script -qec {_quoted(*options, 'good', 'bad')} {recording}")
    terminal.until(lambda: "Records: " in terminal.everything(), "it ends")
    terminal.until_prompt()
    # `script` writes two lines of its own around what it recorded.
    recorded = b"".join(recording.read_bytes().splitlines(keepends=True)[1:-1])
    assert b"\x1b" not in recorded
    assert not [byte for byte in recorded if byte < 0x20 and byte not in b"\r\n"]
    text = recorded.decode().replace("\r\n", "\n")
    for line in ("1: good: Started", "1: good: Listing .", "1: good: Completed", "Sub-agents: 1 done, 1 error"):
        assert f"{line}\n" in text
    assert PROMPT not in text


def _quoted(*arguments: str) -> str:
    return shlex.quote(shlex.join([sys.executable, "-m", "pi_subagents", "run", *arguments]))
