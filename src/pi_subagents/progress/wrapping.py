"""Long text in rows of a given width, broken between words where that is possible."""

from __future__ import annotations

from pi_subagents.progress.cells import graphemes


def wrap(text: str, width: int) -> list[str]:
    """The rows that a text without control characters takes; none is wider than `width` cells.

    What is wider than a row on its own ends the text.
    """
    rows: list[str] = []
    while text and (end := _row_end(text, width)):
        rows.append(text[:end].rstrip())
        text = text[end:].lstrip()
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


def _row_end(text: str, width: int) -> int:
    """How many characters fit; up to the last space among them, unless that would leave the row nearly empty."""
    fitting = _fitting(text, width)
    if fitting >= len(text) or text[fitting] == " ":
        return fitting
    space = text.rfind(" ", fitting // 2, fitting)
    return fitting if space < 0 else space + 1


def _fitting(text: str, width: int) -> int:
    if text[: max(width, 0) + 1].isascii():
        return max(0, min(width, len(text)))
    used = position = 0
    for cluster, cells in graphemes(text):
        used += cells
        if used > width:
            break
        position += len(cluster)
    return position
