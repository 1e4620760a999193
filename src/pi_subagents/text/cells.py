"""Text as a terminal shows it: measured in cells, cut between what people see as characters.

The invariant: nothing that `clip` returns is wider than asked. Where terminals disagree about a character the wider
reading counts, because a line that is cut too early is harmless and one that wraps breaks the layout around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

ELLIPSIS = "…"


class _Kind(IntEnum):
    BASE = 0
    EXTEND = 1
    SPACING_MARK = 2
    JOINER = 3
    EMOJI_STYLE = 4
    SKIN_TONE = 5
    REGIONAL = 6
    PICTOGRAPH = 7
    KEYCAP = 8


_KEYCAPS = frozenset("#*0123456789\u203c\u2049")
"""What is no picture but becomes one when it is asked for in emoji style."""
_VISIBLE_FORMAT = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")


@lru_cache(maxsize=8192)
def _look_up(char: str) -> tuple[_Kind, int]:
    """What a character does to its neighbours, and how many cells it takes on its own."""
    if char == "\u200d":
        return _Kind.JOINER, 0
    if char in _KEYCAPS:
        return _Kind.KEYCAP, 1
    if char == "\ufe0f":
        return _Kind.EMOJI_STYLE, 0
    if "\U0001f3fb" <= char <= "\U0001f3ff":
        return _Kind.SKIN_TONE, 2
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        return _Kind.REGIONAL, 1
    return _look_up_by_category(char)


def _look_up_by_category(char: str) -> tuple[_Kind, int]:
    category = unicodedata.category(char)
    if category == "Mc":
        return _Kind.SPACING_MARK, 1
    if category in ("Mn", "Me", "Cc") or (category == "Cf" and char not in _VISIBLE_FORMAT):
        return _Kind.EXTEND, 0
    if "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff":
        return _Kind.EXTEND, 0  # vowels and finals that a Korean syllable absorbs
    wide = unicodedata.east_asian_width(char) in ("W", "F")
    pictograph = category in ("So", "Sm") or (category == "Cn" and wide)
    return (_Kind.PICTOGRAPH if pictograph else _Kind.BASE), 2 if wide else 1


def graphemes(text: str) -> Iterator[tuple[str, int]]:
    """Each character as people see it (a flag, a family, a letter with its marks) with its width in cells."""
    start, width, base, previous = 0, 0, _Kind.BASE, _Kind.BASE
    for index, char in enumerate(text):
        kind, own = _look_up(char)
        if index and _joins(kind, base, previous, index - start):
            width = _joined_width(kind, base, width, own)
        else:
            if index:
                yield text[start:index], width
            start, width, base = index, own, kind
        previous = kind
    if text:
        yield text[start:], width


def _joins(kind: _Kind, base: _Kind, previous: _Kind, length: int) -> bool:
    if kind in (_Kind.BASE, _Kind.KEYCAP):
        return False
    if kind is _Kind.PICTOGRAPH:
        return previous is _Kind.JOINER and base is _Kind.PICTOGRAPH
    if kind is _Kind.SKIN_TONE:
        return base is _Kind.PICTOGRAPH
    if kind is _Kind.REGIONAL:
        return base is _Kind.REGIONAL and length == 1
    return True


def _joined_width(kind: _Kind, base: _Kind, width: int, own: int) -> int:
    if kind is _Kind.SPACING_MARK:
        return width + own
    if kind is _Kind.EMOJI_STYLE and base not in (_Kind.PICTOGRAPH, _Kind.KEYCAP):
        return width
    return width if kind in (_Kind.EXTEND, _Kind.JOINER) else max(width, 2)


_PLAIN = re.compile("[ -~→•…–—✓✗]*")
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
