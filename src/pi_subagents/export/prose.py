"""An agent's Markdown as HTML that does nothing: no markup of its own, no images, only links a person can judge."""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any

from pi_subagents.export.answers import is_too_deep, new_parser
from pi_subagents.export.containment import MAX_PROSE_CHARACTERS

_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)

_HEADING_SHIFT = 2
"""The page's own headings are the first two levels."""


def prose_html(text: str) -> str:
    """The text rendered; whatever it holds, the result has no script, no style and loads nothing."""
    if len(text) > MAX_PROSE_CHARACTERS or is_too_deep(text):
        return verbatim_html(text)
    return _renderer()(text)


def verbatim_html(text: str, kind: str = "") -> str:
    """The text as it is, in a block of the class `kind`."""
    # A line break right after the tag is not shown, so one has to be there for the text to keep its own.
    return f'<pre class="{kind}">\n{escape(text)}</pre>' if kind else f"<pre>\n{escape(text)}</pre>"


@cache
def _renderer() -> Callable[[str], str]:
    parser = new_parser()
    parser.validateLink = _is_safe_link  # type: ignore[method-assign]  # the documented way to decide which links stay
    parser.core.ruler.push("tame", _tame)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("fence", _fence)

    def render(text: str) -> str:
        rendered: str = parser.render(text)
        return rendered

    return render


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


def _fence(_renderer: Any, tokens: Sequence[Any], index: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    return verbatim_html(tokens[index].content)
