"""How an agent's Markdown is read where people see it: without losing characters that mean something.

Agents write names such as `__init__.py`, and lines that belong on lines of their own, more often than they mean what
CommonMark makes of them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline


@cache
def answer_parser() -> MarkdownIt:
    """For terminals: links and images stay as they are written too, with their addresses."""
    from markdown_it import MarkdownIt

    # Entities could spell control characters.
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 30})
    parser.enable(["table", "strikethrough"])
    keep_as_written(parser)
    return parser.disable(["entity", "link", "image", "autolink", "reference"])


def keep_as_written(parser: MarkdownIt) -> None:
    """Let underscores be underscores, and a line break one, with the indentation behind it."""
    parser.inline.ruler.at("newline", _line_break)
    parser.inline.ruler.at("emphasis", _emphasis)


def _line_break(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("hardbreak", "br", 0)
    state.pos += 1
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    from markdown_it.rules_inline import emphasis

    return state.src[state.pos] == "*" and emphasis.tokenize(state, silent)
