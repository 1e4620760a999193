"""The live view and the shell around it: job control, signals, redirection, and terminals that want no escapes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys

from pi_subagents.offline import Fail, Script, Turn
from tests.kit.waiting import until
from tests.pi.stage import Play
from tests.surfaces.live.watching import (
    NAMES,
    TALK,
    WAITING,
    Open,
    assert_history_is_whole,
    assert_shell_is_sane,
    count,
    marked,
    needs_tmux,
    once,
    pid_of_command,
    start,
)

pytestmark = needs_tmux


def test_ctrl_z_gives_the_shell_its_terminal_and_fg_brings_the_windows_back(play: Play, open_terminal: Open) -> None:
    terminal = open_terminal(play(WAITING), 80, 24)
    start(terminal)
    terminal.press("C-z")
    terminal.until_shown("Stopped")
    assert count(terminal.until_prompt(), *NAMES) == dict.fromkeys(NAMES, 0)
    assert_shell_is_sane(terminal)
    terminal.type("fg", clear=False)
    terminal.until_screen(lambda screen: ": alpha" in marked(screen), "the windows are back")
    terminal.press("Down")
    terminal.until_screen(lambda screen: ": beta" in marked(screen), "keys work again")
    terminal.until(lambda: count(terminal.everything(), *NAMES) == once(*NAMES), "there is no copy of them above")
    terminal.press("q", "y")
    assert_history_is_whole(terminal.until_prompt())
    assert_shell_is_sane(terminal)


def test_in_the_background_nothing_is_drawn_over_the_shell(play: Play, open_terminal: Open) -> None:
    stage = play(Script().otherwise([Turn("Done in the background.", delay_s=1)]))
    terminal = open_terminal(stage, 80, 24)
    terminal.run("run", "alone", redirect=" > out.txt &")
    everything = until(lambda: shown if "Records: " in (shown := terminal.everything()) else "", "it ends")
    assert "ctrl+o" not in everything
    assert "✓ 1: alone" in everything
    terminal.press("Enter")  # the prompt stands above what was printed since
    assert_shell_is_sane(terminal)


def test_with_stdout_in_a_file_and_the_prompt_from_a_pipe_the_view_still_works(play: Play, open_terminal: Open) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, 80, 24)
    terminal.run("run", "-", "second", before="echo from a pipe | ", redirect=" > out.txt")
    screen = terminal.until_shown("Sub-agents: 2 running", "ctrl+c stops all")  # nobody can press keys
    assert "▌" not in screen
    terminal.press("C-c")
    everything = terminal.until_prompt()
    assert "1: from a pipe  ✗ aborted" in everything
    assert "── 1: from a pipe" in (stage.project / "out.txt").read_text()
    assert "\x1b" not in (stage.project / "out.txt").read_text()


def test_sigterm_leaves_a_sane_terminal_and_no_color_takes_the_colours_away_and_not_the_windows(
    play: Play, open_terminal: Open
) -> None:
    stage = play(WAITING)
    terminal = open_terminal(stage, 80, 24)
    start(terminal, before="export NO_COLOR=1; seq 101 130; ")
    assert count(terminal.screen(), *NAMES) == once(*NAMES)
    during = terminal.painted()
    os.kill(pid_of_command(stage), signal.SIGTERM)
    everything = terminal.until_prompt()
    assert re.search("\x1b\\[[0-9;]*(3[0-7]|9[0-7])", during + terminal.painted()) is None
    assert_history_is_whole(everything)
    assert "select" not in everything
    assert_shell_is_sane(terminal)


def test_plain_lines_on_a_terminal_have_no_escapes(play: Play, open_terminal: Open) -> None:
    stage = play(Script().when("bad", [Fail(400, "no")]).otherwise([TALK, Turn("Done.")]))
    terminal = open_terminal(stage, 100, 30)
    recording = stage.root / "recording"
    for variables, options in (("TERM=dumb ", ()), ("", ("--plain",))):
        command = shlex.join([sys.executable, "-m", "pi_subagents", "run", *options, "good", "bad"])
        terminal.type(f"{variables}script -qec {shlex.quote(command)} {recording}")
        terminal.until_prompt()
        # `script` writes two lines of its own around what it recorded.
        recorded = b"".join(recording.read_bytes().splitlines(keepends=True)[1:-1])
        assert b"\x1b" not in recorded
        assert not [byte for byte in recorded if byte < 0x20 and byte not in b"\r\n"]
        text = recorded.decode().replace("\r\n", "\n")
        said = ("1: good: Started", "1: good: Listing .", "1: good: Completed", "Sub-agents: 1 completed, 1 failed")
        assert not [line for line in said if f"{line}\n" not in text]
        assert "ready" not in text
