"""Long text in rows of a given width, broken between words where that is possible."""

from __future__ import annotations

from pi_subagents.text.cells import graphemes


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
