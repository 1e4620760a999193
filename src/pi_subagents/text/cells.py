"""Text as a terminal shows it: measured in cells, cut between what people see as characters.

The invariant: nothing that `clip` returns is wider than asked. Where terminals disagree about a character the wider
reading counts, because a line that is cut too early is harmless and one that wraps breaks the layout around it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from pi_subagents.text.patterns import pattern

ELLIPSIS = "…"
_FILLERS = {"\u3164": 2, "\uffa0": 1}
"""Blank Korean letters: no cells for wcwidth and for new terminals, and these for all others."""
_MAX_REMEMBERED = 16
"""Longer ones are made to be long: remembering them would fill the memory."""


def graphemes(text: str) -> Iterator[tuple[str, int]]:
    """Each character as people see it (a flag, a family, a letter with its marks) with its width in cells."""
    from wcwidth import iter_graphemes  # takes its time to load, and most texts are plain

    for cluster in iter_graphemes(text):
        yield cluster, _cells(cluster) if len(cluster) <= _MAX_REMEMBERED else _measure(cluster)


def _measure(cluster: str) -> int:
    from wcwidth import wcswidth, wcwidth

    # Never `wcswidth` on a whole text: on a row of flags its time grows with the square of their number.
    widths = {char: wcwidth(char) for char in set(cluster)}
    widest = max(widths.values())  # not every terminal knows the selector that makes a picture narrow
    alone = {char: _width_alone(char, width) for char, width in widths.items()}
    return max(wcswidth(cluster), widest, sum(alone[char] for char in cluster))


def _width_alone(char: str, width: int) -> int:
    """The cells of a letter or mark where a terminal does not join it to its neighbours; in Indic scripts some do."""
    category = unicodedata.category(char)
    return _FILLERS.get(char, width) if category == "Lo" else int(category == "Mc")


_cells = lru_cache(maxsize=8192)(_measure)
_PLAIN = pattern("[ -~→•…–—✓✗]*")
"""What our own lines are made of besides what agents say: each takes one cell, whatever stands beside it."""


def _is_plain(text: str) -> bool:
    return text.isascii() or _PLAIN.fullmatch(text) is not None


def cell_width(text: str) -> int:
    """How many terminal cells a text without control characters takes."""
    return len(text) if _is_plain(text) else sum(cells for _, cells in graphemes(text))


def clip(text: str, width: int) -> str:
    """The beginning of a text, with `…` where something is missing, in at most `width` cells."""
    if width <= 0:
        return ""
    if len(text) * 2 <= width:  # nothing is wider than two cells
        return text
    if _is_plain(text):
        return text if len(text) <= width else text[: width - 1] + ELLIPSIS
    used = position = cut = 0
    for cluster, cells in graphemes(text):
        used += cells
        if used > width:
            return text[:cut] + ELLIPSIS
        position += len(cluster)
        if used < width:
            cut = position
    return text


def clip_start(text: str, width: int) -> str:
    """The end of a text, with `…` before it where something is missing, in at most `width` cells."""
    if width <= 0:
        return ""
    if text.isascii():
        return text if len(text) <= width else ELLIPSIS + text[len(text) - width + 1 :]
    clusters = list(graphemes(text))
    if sum(cells for _, cells in clusters) <= width:
        return text
    room, first = width - 1, len(clusters)
    while first and clusters[first - 1][1] <= room:
        first -= 1
        room -= clusters[first][1]
    return ELLIPSIS + "".join(cluster for cluster, _ in clusters[first:])


def wrap(text: str, width: int) -> list[str]:
    """The rows that a text without control characters takes; none is wider than `width` cells.

    What is wider than a row on its own ends the text.
    """
    rows: list[str] = []
    start = 0
    while start < len(text) and (end := _row_end(text, start, width)) > start:
        rows.append(text[start:end].rstrip())
        start = end
        while start < len(text) and text[start].isspace():
            start += 1
    return rows


def screen_rows(text: str, columns: int) -> list[str]:
    """The rows into which a terminal itself breaks a line: at the edge, wherever that is."""
    if text.isascii():
        return [text[at : at + columns] for at in range(0, len(text), columns)] or [""]
    rows, used = [""], 0
    for cluster, cells in graphemes(text):
        if used + cells > columns:
            rows.append("")
            used = 0
        rows[-1] += cluster
        used += cells
    return rows


def _row_end(text: str, start: int, width: int) -> int:
    """Where the row ends: at the last space that fits, unless that would leave the row nearly empty."""
    end = _fitting(text, start, width)
    if end >= len(text) or text[end] == " ":
        return end
    space = text.rfind(" ", start + (end - start) // 2, end)
    return end if space < 0 else space + 1


def _fitting(text: str, start: int, width: int) -> int:
    """How far a row could go; of a long text no more is looked at than it takes."""
    most = max(width, 0)
    if text[start : start + most + 1].isascii():
        return min(start + most, len(text))
    looked_at = 8 * (most + 1)
    while (end := _fitting_in(text[start : start + looked_at], width)) is None and start + looked_at < len(text):
        looked_at *= 4
    return len(text) if end is None else start + end


def _fitting_in(text: str, width: int) -> int | None:
    """How many characters fit; None if all do."""
    used = position = 0
    for cluster, cells in graphemes(text):
        used += cells
        if used > width:
            return position
        position += len(cluster)
    return None
