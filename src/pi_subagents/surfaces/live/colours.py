"""How meanings look on a terminal: the sixteen colours every theme defines, so that light and dark both work."""

from __future__ import annotations

from pi_subagents.progress import Line, Style

_CODES = {
    Style.TEXT: "",
    Style.BOLD: "1",
    Style.TITLE: "1",
    Style.MUTED: "90",
    Style.DIM: "2",
    Style.ACCENT: "36",
    Style.ADDED: "32",
    Style.REMOVED: "31",
    Style.SUCCESS: "32",
    Style.WARNING: "33",
    Style.ERROR: "31",
}


def paint(line: Line) -> str:
    """A styled line as text with colour codes."""
    return "".join(f"\x1b[{code}m{text}\x1b[0m" if (code := _CODES[style]) else text for style, text in line)
