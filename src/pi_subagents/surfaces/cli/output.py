"""How the command prints, text, Markdown and JSON: the only place that does.

Texts from projects, agents and file systems are made harmless here. A line stays a line, whatever names and paths are
in it; a text of several lines says so by using another function.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from pi_subagents.text.harmless import clean, escape_json, painted, printable, wants_colours

if TYPE_CHECKING:
    from pi_subagents.text.steps import Steps

PIPE_CELLS = 1000
"""How wide a line may be where no terminal is: nothing is cut there."""

MAX_RENDERED = 40_000
"""Characters: rendering takes about a second for each 50,000, and whoever has that much to read wants it at once."""

Say = Callable[[str], None]
"""Takes a remark, or prints a text."""


def echo(line: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print one line; a line break in it is part of a name or a path, and becomes a space."""
    _write(clean(str(line)), err=err, nl=nl)


def echo_text(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text of any number of lines."""
    _write(printable(text), err=err, nl=nl)


def wrapped(text: str, stream: TextIO, indent: str = "") -> str:
    """The text in rows that fit the terminal, broken between words only, so that a command can still be copied.

    Where there is no terminal it stays as it is: programs get one line.
    """
    columns = _columns(stream)
    if not columns or all(len(line) <= columns for line in text.split("\n")):
        return text
    from textwrap import fill  # most lines are short

    return "\n".join(
        fill(line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def _columns(stream: TextIO) -> int:
    """How wide the terminal is; 0 if there is none, or if it does not say."""
    try:
        if not stream.isatty():
            return 0
        told = os.environ.get("COLUMNS", "")
        return int(told) if told.isdecimal() else os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def _write(text: str, *, err: bool, nl: bool) -> None:
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n" if nl else text)
    stream.flush()


def echo_painted(line: str, *, err: bool = False, color: bool | None = None) -> None:
    """Print a line that has colours of ours in it, around texts that are clean; not in colour where none is wanted."""
    import click

    click.echo(
        line, file=painted(sys.stderr if err else sys.stdout), color=color if wants_colours(os.environ) else False
    )


def take_back(echoed: str) -> None:
    """Wipe out what the terminal has just shown of a key; questions are on standard error, and so is that."""
    import click

    back = "\b" * len(echoed)
    click.echo(f"{back}{' ' * len(echoed)}{back}", file=painted(sys.stderr), nl=False)


def steps_of(command: str) -> Steps:
    """Where a command tells of its long steps: on standard error, after its name."""
    from pi_subagents.text.steps import Steps  # not for every command

    return Steps(painted(sys.stderr) if sys.stderr.isatty() else sys.stderr, f"{command}: ")


def echo_in_pager(text: str) -> None:
    """Show a text that is clean, with colours of ours in it, in the user's pager; in colour if that can show it."""
    import click

    click.echo_via_pager(text.rstrip("\n"))


def print_json(value: Any, *, err: bool = False) -> None:
    """One document, indented; harmless should a terminal get it."""
    import msgspec

    from pi_subagents.encoding import encode_any

    echo_text(escape_json(msgspec.json.format(encode_any(value), indent=2).decode()), err=err)


def print_json_line(value: Any) -> None:
    """One document of several, each on a line of its own."""
    from pi_subagents.encoding import encode_any

    echo(escape_json(encode_any(value).decode()))


def obeys_escapes() -> bool:
    """Whether a terminal would obey them instead of printing them."""
    return os.environ.get("TERM", "dumb") not in ("", "dumb")


def markdown_printer(*, plain: bool = False) -> Say:
    """Prints texts; on a terminal rendered up to a bound for all of them together, the rest as it is."""
    if plain or not _can_render():
        return echo_text
    left = MAX_RENDERED

    def show(text: str) -> None:
        nonlocal left
        left -= len(text)
        (_render if left >= 0 else echo_text)(text)

    return show


def print_block(block: str) -> None:
    """Print one of many blocks of Markdown, with a blank line behind it."""
    if _can_render() and len(block) <= MAX_RENDERED:
        _render(block)
        echo_text("")
    else:
        echo_text(f"{block}\n")


def _can_render() -> bool:
    return sys.stdout.isatty() and obeys_escapes()


def _render(text: str) -> None:
    """What would lose words when it is rendered is printed as it is."""
    from pi_subagents.surfaces.cli.markdown import render

    if not render(text):
        echo_text(text)
