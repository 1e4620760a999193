"""Markdown on standard output: rendered on a terminal, as it is in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pi_subagents.harmless import painted, printable
from pi_subagents.surfaces.cli.output import echo_text


def block_printer() -> Callable[[str], None]:
    """Prints one block of Markdown after the other, with a blank line behind each."""
    return _rendered() if sys.stdout.isatty() else _plain


def _plain(block: str) -> None:
    echo_text(f"{block}\n")


def _rendered() -> Callable[[str], None]:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=painted(sys.stdout))

    def render(block: str) -> None:
        console.print(Markdown(printable(block), code_theme="ansi_dark", hyperlinks=False))
        console.print()

    return render
