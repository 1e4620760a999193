"""An agent's Markdown as people see it: no character that means something is lost, and nothing in it does anything.

Agents write names such as `__init__.py`, and lines that belong on lines of their own, more often than they mean what
CommonMark makes of them. On a page it has no markup of its own, no images, and only links a person can judge.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from pi_subagents.export.markdown import MAX_PROSE_CHARACTERS
from pi_subagents.text.patterns import pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_MAX_NESTING = 30
"""Who renders lists in lists calls itself for each."""
_DEEP_LINE = pattern(r"^(?:[ >]|[-*+](?= )|\d{1,9}[.)](?= )){27,}(?:>|[-*+] |\d{1,9}[.)] )", re.MULTILINE)
"""Only what begins so can be nested too deep: a quotation is one level and takes a mark; a list is two, and takes a
mark with a blank, or two blanks of indentation."""
_SAFE_LINK = pattern(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_HEADING_SHIFT = 2
"""The page's own headings are the first two levels."""


def _new_parser() -> MarkdownIt:
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
    parser = _new_parser().disable(["entity", "link", "image", "autolink", "reference"])
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


def prose_html(text: str) -> str:
    """The text rendered; whatever it holds, the result has no script, no style and loads nothing."""
    if len(text) > MAX_PROSE_CHARACTERS or is_too_deep(text):
        return verbatim_html(text)
    rendered: str = _page_parser().render(text)
    return rendered


def verbatim_html(text: str, kind: str = "") -> str:
    """The text as it is, in a block of the class `kind`."""
    # A line break right after the tag is not shown, so one has to be there for the text to keep its own.
    return f'<pre class="{kind}">\n{escape(text)}</pre>' if kind else f"<pre>\n{escape(text)}</pre>"


@cache
def _page_parser() -> MarkdownIt:
    parser = _new_parser()
    parser.validateLink = _is_safe_link  # type: ignore[method-assign]  # the documented way to decide which links stay
    parser.core.ruler.push("tame", _tame)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule(
        "fence", lambda _renderer, tokens, index, _options, _env: verbatim_html(tokens[index].content)
    )
    return parser


def _is_safe_link(url: str) -> bool:
    return _SAFE_LINK.fullmatch(url.strip()) is not None


def _tame(state: Any) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _HEADING_SHIFT, 6)}"


def _image(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    token = tokens[index]
    return f"[image: {escape(token.content or 'no description')} – {escape(str(token.attrGet('src') or ''))}]"


def _link_open(renderer: Any, tokens: Sequence[Any], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    rendered: str = renderer.renderToken(tokens, index, options, env)
    return rendered
