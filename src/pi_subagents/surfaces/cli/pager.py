"""Long lists at a terminal: through the user's pager, beginning at the end, where the newest is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from shutil import get_terminal_size
from typing import Any, TypeVar

import click

from pi_subagents.surfaces.cli.output import echo_in_pager
from pi_subagents.text.harmless import painted

F = TypeVar("F", bound=Callable[..., Any])

_LESS = "-FRX"
"""As git has it: ends by itself where all fits, shows colours, leaves what was read on the screen."""
_AT_THE_END = "+G"


def pager_option(function: F) -> F:
    """Gives a command the option --no-pager."""
    return click.option(
        "--no-pager", "pager", flag_value=False, default=True, help="Do not pipe long output into a pager."
    )(function)


def print_paged(text: str, *, pager: bool) -> None:
    """Print what we painted, out of texts that are clean; in a pager if it is wanted and the terminal is too low."""
    if not pager or not _is_too_long(text):
        painted(sys.stdout).write(text)
        return
    os.environ["LESS"] = f"{os.environ.get('LESS') or _LESS} {_AT_THE_END}"
    echo_in_pager(text)


def _is_too_long(text: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("PAGER") == "":
        return False
    return text.count("\n") >= get_terminal_size().lines  # a line is left for the prompt
