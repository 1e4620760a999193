"""Lines as styled pieces: a terminal, pi's theme and a web page paint the same line, each in its colours."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import cycle

from pi_subagents.text.cells import ELLIPSIS, clip
from pi_subagents.text.patterns import pattern


class Style(StrEnum):
    """What a piece of a line means; each surface decides how that looks."""

    TEXT = "text"
    BOLD = "bold"
    TITLE = "title"
    MUTED = "muted"
    DIM = "dim"
    ACCENT = "accent"
    ADDED = "added"
    REMOVED = "removed"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"


Segment = tuple[Style, str]
Line = list[Segment]

_DIFF = pattern(r"^(?P<head>→ (?:edit|write) → .* )(?P<added>\+\d+)(?:(?P<slash>/)(?P<removed>-\d+))?$")
_LINES = pattern(r"^(?P<head>→ read → .*\+\d+ )(?P<added>\(\d+ lines?\))$")
_SUMMARY = pattern(r"^  (?:\d+ files?(?:, \d+ dirs?)?|\d+ dirs?|\d+ match(?:es)?)\+?$")
_COUNT = pattern(r"(\d+)")
_STYLES = {"head": Style.MUTED, "added": Style.ADDED, "slash": Style.MUTED, "removed": Style.REMOVED}


def style_tool_line(text: str) -> Line:
    """A window's tool line: the figures of edit, write, read, ls and find in colour, all else muted."""
    found = _DIFF.match(text) or _LINES.match(text)
    if found:
        return [(_STYLES[name], piece) for name, piece in found.groupdict().items() if piece]
    if _SUMMARY.match(text):
        styles = cycle((Style.MUTED, Style.ADDED))
        return [(style, piece) for style, piece in zip(styles, _COUNT.split(text), strict=False) if piece]
    return [(Style.MUTED, text)]


def plain(line: Iterable[Segment]) -> str:
    """The line's text alone."""
    return "".join(text for _, text in line)


def fit(line: Line, width: int) -> Line:
    """The line cut to at most `width` cells, with `…` where something is missing."""
    text = plain(line)
    clipped = clip(text, width)
    if clipped == text or not clipped:
        return line if clipped else []
    fitted: Line = []
    left = len(clipped) - len(ELLIPSIS)
    for style, piece in line:
        if len(piece) > left:
            return [*fitted, (style, piece[:left] + ELLIPSIS)]
        fitted.append((style, piece))
        left -= len(piece)
    return fitted
