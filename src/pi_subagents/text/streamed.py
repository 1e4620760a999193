"""Text that arrives piece by piece, held in bounded memory."""

from __future__ import annotations

import msgspec

MAX_STREAMED_CHARACTERS = 4 * 1024 * 1024
"""Far more than any model writes in one message."""

_BLOCK = 64 * 1024
"""Pieces are joined to blocks of so many characters: letter by letter a text would take fifty times its size."""
_MAX_BLOCKS = MAX_STREAMED_CHARACTERS // _BLOCK
_HEAD_BLOCKS = _MAX_BLOCKS // 2


class StreamedText(msgspec.Struct):
    """Grows at its end. Of a text that becomes too long the middle is forgotten, and the text says so."""

    _blocks: list[str] = msgspec.field(default_factory=list)
    _pieces: list[str] = msgspec.field(default_factory=list)
    _in_pieces: int = 0
    _left_out: int = 0

    def __bool__(self) -> bool:
        return bool(self._blocks or self._pieces)

    def __str__(self) -> str:
        if not self._left_out:
            return "".join([*self._blocks, *self._pieces])
        note = f"\n\n[… {self._left_out:,} characters of this message left out …]\n\n"
        return "".join([*self._blocks[:_HEAD_BLOCKS], note, *self._blocks[_HEAD_BLOCKS:], *self._pieces])

    def add(self, piece: str) -> None:
        """Put a piece at the end."""
        if not piece:
            return
        self._pieces.append(piece)
        self._in_pieces += len(piece)
        if self._in_pieces >= _BLOCK:
            self._close_block()

    def _close_block(self) -> None:
        text = "".join(self._pieces)
        self._blocks += [text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK)]
        self._pieces.clear()
        self._in_pieces = 0
        forgotten = slice(_HEAD_BLOCKS, _HEAD_BLOCKS + max(len(self._blocks) - _MAX_BLOCKS, 0))
        self._left_out += sum(map(len, self._blocks[forgotten]))
        del self._blocks[forgotten]
