"""Agents for people to watch in a terminal, and what must be true of it whatever they do."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

import pytest

from pi_subagents.offline import Call, Hang, Script, Turn, Usage
from scripts.bootstrap import PROGRAMS
from tests.kit.processes import command_line, parent_of, working_in
from tests.pi.stage import Stage
from tests.surfaces.live.tmux import Terminal

_PROGRAM = next(program for program in PROGRAMS if program.apt_package == "tmux")

needs_tmux = pytest.mark.skipif(
    _PROGRAM.is_missing,
    reason=f"not run, because the program is not installed: {_PROGRAM.commands[0]} ({_PROGRAM.used_for})",
)

Open = Callable[[Stage, int, int], Terminal]

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
    terminal.run("run", *options, *NAMES, **{"before": "seq 101 130; ", **how})
    return terminal.until_screen(lambda screen: screen.count("Now I wait") == 3, "all agents wait")


def marked(screen: str) -> str:
    """The header of the window that is selected."""
    return next((line for line in screen.splitlines() if line.startswith("▌")), "")


def is_marked_down_to_the_summary(screen: str) -> bool:
    """Whether every row from the header of the selected window to the summary belongs to it."""
    lines = screen.splitlines()
    rows = lines[lines.index(marked(screen)) :] if marked(screen) else []
    window = list(takewhile(lambda line: not line.startswith("Sub-agents: "), rows))
    return len(window) < len(rows) and all(line.startswith("▌") for line in window)


def is_whole(everything: str) -> bool:
    """Whether the thirty lines of history are there, each once."""
    lines = everything.splitlines()
    return all(lines.count(str(number)) == 1 for number in range(101, 131))


def assert_history_is_whole(everything: str) -> None:
    assert is_whole(everything), everything


def assert_shell_is_sane(terminal: Terminal) -> None:
    """Echo is on, a line is a line, and the cursor can be seen."""
    terminal.until_prompt()
    terminal.until(terminal.cursor_is_visible, "the cursor can be seen")
    terminal.type("echo to''gether", clear=False)
    terminal.until_shown("echo to''gether", "\ntogether")
    terminal.until_prompt()


def pid_of_command(stage: Stage) -> int:
    """The child of the shell: the command as the shell knows it."""
    commands = [pid for pid, words in working_in(stage.project).items() if "pi_subagents" in words]
    return next(pid for pid in commands if b"bash" in command_line(parent_of(pid)))
