"""How meanings look on a terminal: the sixteen colours every theme defines, so that light and dark both work."""

from __future__ import annotations

from pi_subagents.text import Line, Style

_COLOURED = {
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
_COLOURLESS = {style: code if code in ("1", "2") else "" for style, code in _COLOURED.items()} | {Style.MUTED: "2"}


def paint(line: Line, *, coloured: bool = True) -> str:
    """A styled line as text with codes for colours; without those, bold and dim are left."""
    codes = _COLOURED if coloured else _COLOURLESS
    return "".join(f"\x1b[{code}m{text}\x1b[0m" if (code := codes[style]) else text for style, text in line)
