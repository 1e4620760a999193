"""An agent's Markdown, rendered: everything begins at the left, at most one blank line stands between two things.

Loads rich, so it is loaded only where something is rendered.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import dropwhile
from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.segment import Segment, Segments
from rich.syntax import Syntax
from rich.table import Table

from pi_subagents.export import answer_parser, is_too_deep
from pi_subagents.text.harmless import clean, painted, printable

_MIN_CELL = 5
"""With the blanks and the line around it."""


def render(text: str) -> bool:
    """Print a text as Markdown; False, and nothing printed, where that would lose words.

    In colour unless NO_COLOR is set; no line is filled up with blanks, which a narrower window would wrap.
    """
    console = Console(file=painted(sys.stdout))
    answer = _Answer(printable(text))
    if is_too_deep(text) or not answer.has_room(console.width):
        return False
    lines = map(_trimmed, console.render_lines(answer, pad=False))
    for line in dropwhile(lambda line: not line, lines):  # rich puts a blank line before a list or a quotation
        console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)
    return True


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = {}


class _CodeBlock(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 1))


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            assert isinstance(table, Table)
            table.show_edge = False
            for column in table.columns:
                column.overflow = "fold"  # what is too long for a cell goes on below
            yield table


class _Answer(Markdown):
    """A text as `answer_parser` reads it."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        self.parsed = answer_parser().parse(text)

    def has_room(self, columns: int) -> bool:
        """Whether every cell of its tables has more than a letter's width where lines have so many columns."""
        types = "".join("|" if token.type == "tr_open" else "x" * token.type.startswith("th_") for token in self.parsed)
        return max(map(len, types.split("|"))) // 2 * _MIN_CELL <= columns


def _trimmed(line: Sequence[Segment]) -> list[Segment]:
    """Without blanks at its end, and harmless, whatever comes to light only when it is rendered."""
    kept = [segment._replace(text=clean(segment.text)) for segment in line]
    while kept and not kept[-1].text.strip():
        kept.pop()
    if kept:
        kept[-1] = kept[-1]._replace(text=kept[-1].text.rstrip())
    return kept
