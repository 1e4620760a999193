"""Questions to the person at the terminal as plain prompts: numbered choices, and what Enter means in brackets.

They go to standard error. Ctrl+D leaves them, and so does Ctrl+C, as the KeyboardInterrupt that it is. Esc ends a line
too: the terminal goes on to do the editing, the echo and Ctrl+C, and Esc is only made one more character of that kind.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from pi_subagents.surfaces.cli.output import echo, echo_text, take_back
from pi_subagents.wizard import Cancelled, Level

HINT = "Enter accepts the answer in brackets. Esc quits; after your first answer it asks whether to quit or go back."

_REMOVE = "-"
_END = "."
_ECHOED_ESC = "^["
"""What a terminal shows for Esc."""
_ESCAPE = b"\x1b"
_MAX_LINE_BYTES = 65536
_KEY_S = 0.05
"""What follows Esc within this time is the rest of an arrow or another key, which came at one go."""


class TerminalDialogs:
    """Asks the person at the terminal."""

    async def select(self, title: str, options: Sequence[str], *, initial: str | None = None) -> str | None:
        """Ask for a number, or the beginning of an option."""
        _say(f"\n{title}")
        for number, option in enumerate(options, 1):
            echo(f"  {number}) {option}", err=True)
        default = initial if initial in options else options[0]
        while answer := _ask(f"Number [{options.index(default) + 1}]"):
            if found := _find(answer, options):
                return found
            _say(f"Type a number from 1 to {len(options)}.")
        return default if answer is not None else None

    async def confirm(self, title: str, message: str) -> bool:
        """Ask for yes or no."""
        _say(f"\n{title}\n{message}")
        return ask_yes("Yes or no", initial=False)

    async def input(self, title: str, placeholder: str = "", *, initial: str = "", enter: str = "skips") -> str | None:
        """Ask for a line."""
        _say(f"\n{title}")
        if initial:
            answer = _ask(f"Text ({_REMOVE} removes it) [{initial}]")
            return "" if answer == _REMOVE else initial if answer == "" else answer
        example = f", such as {placeholder}" if placeholder else ""
        return _ask(f"Text{example} (Enter {enter})")

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """Open the person's editor; without one, read lines up to a dot. Leaving without saving changes nothing."""
        if os.environ.get("VISUAL") or os.environ.get("EDITOR"):
            try:
                return click.edit(prefill, extension=".md") or prefill
            except click.ClickException as error:
                _say(f"warning: {error.message}")
        _say(f"\n{title}")
        return _read_text(prefill)

    async def notify(self, message: str, level: Level = "info") -> None:
        """Print it; what is not as it should be goes to standard error."""
        echo_text(message if level == "info" else f"{level}: {message}", err=level != "info")


def ask_hidden(question: str) -> str:
    """A line that is not shown while it is typed; raises Cancelled."""
    try:
        answer: str = click.prompt(question, default="", show_default=False, hide_input=True, err=True)
    except click.Abort:
        raise Cancelled from None
    return answer.strip()


def ask_yes(question: str, *, initial: bool) -> bool:
    """Ask until the answer is yes or no; Enter means `initial`, Esc no. Raises Cancelled."""
    while answer := _ask(f"{question} [{'yes' if initial else 'no'}]"):
        if answer.lower() in ("y", "yes"):
            return True
        if answer.lower() in ("n", "no"):
            return False
        _say("Type yes or no.")
    return initial and answer is not None


def _read_text(before: str) -> str | None:
    if before:
        _say(f"{before}\n\nA {_END} alone keeps this text, a {_REMOVE} alone removes it.")
    _say(f"Type the text; end it with a line that contains only {_END}")
    lines: list[str] = []
    while (line := _read("> ")) != _END:
        if line is None:
            return None
        if line == _REMOVE and not lines:
            return ""
        lines.append(line)
    return "\n".join(lines) if lines else before


def _ask(question: str) -> str | None:
    line = _read(f"{question}: ")
    return None if line is None else line.strip()


def _read(prompt: str) -> str | None:
    """A line, or None for Esc; raises Cancelled at the end of the input."""
    try:
        line = _read_line(lambda: echo(prompt, nl=False, err=True))
    except EOFError:
        raise Cancelled from None
    if line is None:
        take_back(_ECHOED_ESC)
        echo(err=True)
    return line


def _find(answer: str, options: Sequence[str]) -> str | None:
    if answer.isdecimal():
        return options[int(answer) - 1] if 0 < int(answer) <= len(options) else None
    found = [option for option in options if option.lower().startswith(answer.lower())]
    exact = [option for option in found if option.lower() == answer.lower()]
    return (exact or found)[0] if len(exact or found) == 1 else None


def _say(line: str) -> None:
    echo_text(line, err=True)


def _read_line(ask: Callable[[], object]) -> str | None:
    """The line without its end, or None if Esc was pressed; raises EOFError where the input is over.

    `ask` shows the question once the terminal knows of Esc: whoever sees it can answer.
    """
    typed = b""
    with _ends_at_escape() as fd:
        ask()
        while True:
            part = os.read(fd, _MAX_LINE_BYTES)
            typed += part.removesuffix(_ESCAPE)
            if not part:
                raise EOFError
            if not part.endswith(_ESCAPE):
                return typed.decode(errors="replace").rstrip()
            if not _was_other_key(fd):
                return None


@contextmanager
def _ends_at_escape() -> Iterator[int]:
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[6][termios.VEOL] = _ESCAPE
    termios.tcsetattr(fd, termios.TCSADRAIN, changed)
    try:
        yield fd
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _was_other_key(fd: int) -> bool:
    """Whether Esc was the beginning of a key; takes the rest of it, for which the terminal would wait till Enter."""
    before = termios.tcgetattr(fd)
    changed = termios.tcgetattr(fd)
    changed[3] &= ~termios.ICANON
    changed[6][termios.VMIN] = 1  # shares its place with the end of the file
    changed[6][termios.VTIME] = 0
    termios.tcsetattr(fd, termios.TCSANOW, changed)
    try:
        if not select.select([fd], [], [], _KEY_S)[0]:
            return False
        _take_key(fd)
        return True
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)


def _take_key(fd: int) -> None:
    """Read what follows Esc: `[` or `O`, then anything up to a letter or `~`; else one character."""
    taken = os.read(fd, 1)
    while taken[:1] in (b"[", b"O") and (len(taken) == 1 or not 0x40 <= taken[-1] <= 0x7E):
        taken += os.read(fd, 1)
