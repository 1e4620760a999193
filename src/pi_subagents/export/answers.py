"""How an agent's Markdown is read where people see it: without losing characters that mean something.

Agents write names such as `__init__.py`, and lines that belong on lines of their own, more often than they mean what
CommonMark makes of them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_MAX_NESTING = 30
"""Who renders lists in lists calls itself for each."""
_DEEP_LINE = re.compile(r"^(?:[ >]|[-*+](?= )|\d{1,9}[.)](?= )){27,}(?:>|[-*+] |\d{1,9}[.)] )", re.MULTILINE)
"""Only what begins so can be nested too deep: a quotation is one level and takes a mark; a list is two, and takes a
mark with a blank, or two blanks of indentation."""


def new_parser() -> MarkdownIt:
    """CommonMark with tables, which adds nothing to a text and lets underscores and line breaks be what they are."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    for rule, ours in (("newline", _line_break), ("emphasis", _emphasis), ("escape", _escape)):
        parser.inline.ruler.at(rule, ours)
    return parser


@cache
def answer_parser() -> MarkdownIt:
    """For terminals: links and images stay as they are written too, with their addresses."""
    # Entities could spell control characters.
    parser = new_parser().disable(["entity", "link", "image", "autolink", "reference"])
    parser.parse("a")  # its first text makes it put its rules together, which two threads must not do at once
    return parser


def is_too_deep(text: str) -> bool:
    """Whether lists or quotations may be nested deeper than the parser goes: what stands there would be lost."""
    return _DEEP_LINE.search(text.expandtabs(4)) is not None


def _line_break(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("hardbreak", "br", 0)
    state.pos += 1
    return True


def _escape(state: StateInline, silent: bool) -> bool:
    """A backslash at the end of a line is one: commands go on in the next line with it."""
    from markdown_it.rules_inline import escape

    return not state.src.startswith("\\\n", state.pos) and escape(state, silent)


def _emphasis(state: StateInline, silent: bool) -> bool:
    from markdown_it.rules_inline import emphasis

    return state.src[state.pos] == "*" and emphasis.tokenize(state, silent)
