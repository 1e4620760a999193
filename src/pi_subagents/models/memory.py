"""What is held in memory of a conversation, however long it becomes: the journal on disk has all of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from pi_subagents.models.event import Message

MAX_MESSAGES_IN_MEMORY = 500
MAX_MESSAGE_BYTES_IN_MEMORY = 4 * 1024 * 1024
MAX_STREAMED_CHARACTERS = 4 * 1024 * 1024
"""Far more than any model writes in one message."""

_BLOCK = 64 * 1024
"""Pieces are joined to blocks of so many characters: letter by letter a text would take fifty times its size."""
_MAX_BLOCKS = MAX_STREAMED_CHARACTERS // _BLOCK
_HEAD_BLOCKS = _MAX_BLOCKS // 2

_ENCODER = msgspec.json.Encoder()


@dataclass(slots=True)
class StreamedText:
    """Grows at its end. Of a text that becomes too long the middle is forgotten, and the text says so."""

    _blocks: list[str] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
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


@dataclass(slots=True)
class RecentMessages:
    """The latest messages of a run: so many, and so much of them; the last one is always there."""

    _messages: deque[Message] = field(default_factory=deque)
    _sizes: deque[int] = field(default_factory=deque)
    _bytes: int = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __getitem__(self, index: int) -> Message:
        return self._messages[index]

    def append(self, message: Message) -> None:
        """Add a message, in place of the oldest ones if it needs their room."""
        size = size_of(message)
        self._messages.append(message)
        self._sizes.append(size)
        self._bytes += size
        while len(self) > 1 and (len(self) > MAX_MESSAGES_IN_MEMORY or self._bytes > MAX_MESSAGE_BYTES_IN_MEMORY):
            self._messages.popleft()
            self._bytes -= self._sizes.popleft()


def size_of(value: object) -> int:
    """How many bytes a value takes as JSON."""
    try:
        return len(_ENCODER.encode(value))
    except UnicodeEncodeError:  # half of a surrogate pair: it comes from no journal
        return len(repr(value))
