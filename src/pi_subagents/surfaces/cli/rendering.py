"""An agent's Markdown for rich: everything begins at the left, and at most one blank line stands between two things."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.syntax import Syntax
from rich.table import Table

from pi_subagents.export import answer_parser

_MIN_CELL = 5
"""With the blanks and the line around it."""


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


class RenderedAnswer(Markdown):
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
