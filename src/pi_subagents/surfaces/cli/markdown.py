"""Markdown on standard output: rendered on a terminal, as it is in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING

from pi_subagents.surfaces.cli.output import echo_text
from pi_subagents.text.harmless import clean, painted, printable

if TYPE_CHECKING:
    from rich.segment import Segment

Printer = Callable[[str], None]

MAX_RENDERED = 40_000
"""Characters: rendering takes about a second for each 50,000, and whoever has that much to read wants it at once."""


def markdown_printer(*, plain: bool = False) -> Printer:
    """Prints texts; rendered up to a bound for all of them together, the rest as it is."""
    if plain or not _can_render():
        return echo_text
    left = MAX_RENDERED

    def show(text: str) -> None:
        nonlocal left
        left -= len(text)
        (_render if left >= 0 else echo_text)(text)

    return show


def print_block(block: str) -> None:
    """Print one of many blocks, with a blank line behind it."""
    if _can_render() and len(block) <= MAX_RENDERED:
        _render(block)
        echo_text("")
    else:
        echo_text(f"{block}\n")


def _can_render() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _render(text: str) -> None:
    """In colour unless NO_COLOR is set; no line is filled up with blanks, which a narrower window would wrap.

    What would lose words when it is rendered is printed as it is.
    """
    from rich.console import Console
    from rich.segment import Segment, Segments

    from pi_subagents.export import is_too_deep
    from pi_subagents.surfaces.cli.rendering import RenderedAnswer

    console = Console(file=painted(sys.stdout))
    answer = RenderedAnswer(printable(text))
    if is_too_deep(text) or not answer.has_room(console.width):
        echo_text(text)
        return
    lines = map(_trimmed, console.render_lines(answer, pad=False))
    for line in dropwhile(lambda line: not line, lines):  # rich puts a blank line before a list or a quotation
        console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)


def _trimmed(line: Sequence[Segment]) -> list[Segment]:
    """Without blanks at its end, and harmless, whatever comes to light only when it is rendered."""
    kept = [segment._replace(text=clean(segment.text)) for segment in line]
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept
