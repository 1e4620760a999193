"""How meanings look on the full screen: the theme's own colours, so that light and dark both work."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from pi_subagents.text import Line, Style
from pi_subagents.text.harmless import printable

_STYLES = {
    Style.TEXT: "",
    Style.BOLD: "bold",
    Style.TITLE: "bold $text-primary",
    Style.MUTED: "$foreground-muted",
    Style.DIM: "$foreground-muted italic",
    Style.ACCENT: "$text-accent",
    Style.ADDED: "$text-success",
    Style.REMOVED: "$text-error",
    Style.SUCCESS: "$text-success",
    Style.WARNING: "$text-warning",
    Style.ERROR: "$text-error",
}


def painted(line: Line) -> Content:
    """A styled line as textual shows it; nothing in it is taken for markup, or obeyed by a terminal."""
    return Content.assemble(*((printable(text), _STYLES[style]) for style, text in line))


def painted_lines(lines: Iterable[Line]) -> Content:
    """Several lines, one below the other."""
    return Content("\n").join(painted(line) for line in lines)
