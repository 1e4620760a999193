"""How the command prints: the only place that does.

Texts from projects, agents and file systems are made harmless here. A line stays a line, whatever names and paths are
in it; a text of several lines says so by using another function.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from pi_subagents.text.harmless import clean, painted, printable, wants_colours

if TYPE_CHECKING:
    from pi_subagents.text.steps import Steps

PIPE_CELLS = 1000
"""How wide a line may be where no terminal is: nothing is cut there."""

Say = Callable[[str], None]
"""Takes a remark."""


def echo(line: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print one line; a line break in it is part of a name or a path, and becomes a space."""
    click.echo(clean(str(line)), err=err, nl=nl, color=False)


def remarks(*, quiet: bool) -> Say:
    """Says lines on standard error, or nothing to whoever wants only answers and errors."""
    return (lambda _line: None) if quiet else (lambda line: echo(line, err=True))


def echo_text(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text of any number of lines."""
    click.echo(printable(text), err=err, nl=nl, color=False)


def echo_painted(line: str, *, err: bool = False, color: bool | None = None) -> None:
    """Print a line that has colours of ours in it, around texts that are clean; not in colour where none is wanted."""
    click.echo(
        line, file=painted(sys.stderr if err else sys.stdout), color=color if wants_colours(os.environ) else False
    )


def take_back(echoed: str) -> None:
    """Wipe out what the terminal has just shown of a key; questions are on standard error, and so is that."""
    back = "\b" * len(echoed)
    click.echo(f"{back}{' ' * len(echoed)}{back}", file=painted(sys.stderr), nl=False)


def steps_of(command: str) -> Steps:
    """Where a command tells of its long steps: on standard error, after its name."""
    from pi_subagents.text.steps import Steps  # not for every command

    return Steps(painted(sys.stderr) if sys.stderr.isatty() else sys.stderr, f"{command}: ")


def echo_in_pager(text: str) -> None:
    """Show a text that is clean, with colours of ours in it, in the user's pager; in colour if that can show it."""
    click.echo_via_pager(text.rstrip("\n"))
