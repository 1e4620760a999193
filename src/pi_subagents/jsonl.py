"""Splits a byte stream into LF-terminated records within a fixed amount of memory.

Only LF ends a record (U+2028 and friends are legal inside JSON strings), and bytes are never decoded here,
so a record that is split inside a multi-byte character arrives whole. A record beyond the limit is dropped
while it streams in; its first bytes are kept so that a reader can still say what it was.

It loads no library: hosts wait for a handshake that is read with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

MAX_RECORD_BYTES = 32 * 1024 * 1024
"""A conversation of many large tool results repeated in one `agent_end` stays below this."""

_HEAD_BYTES = 256


class Oversized(NamedTuple):
    """A record that was dropped because it exceeded the limit."""

    size: int
    head: bytes


Frame = bytes | Oversized


class Framer:
    """Turns chunks into frames; `feed` with every chunk, `finish` once at the end of the stream."""

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._max = max_record_bytes
        # One buffer, not a list of chunks: an agent may write a record byte by byte.
        self._held = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yield every record that `chunk` completes, without its line ending; blank records are skipped."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield from self._complete(chunk[start:end])
            start = end + 1
        self._hold(chunk[start:])

    def finish(self) -> Iterator[Frame]:
        """Yield what is left over when the stream ends without a final line ending."""
        yield from self._complete(b"")

    def _hold(self, part: bytes) -> None:
        """Keep a part of a record; of one that has become too large, only its beginning."""
        if self._size <= self._max:
            self._held += part
        self._size += len(part)
        if self._size > self._max:
            del self._held[min(_HEAD_BYTES, self._max) :]

    def _complete(self, last: bytes) -> Iterator[Frame]:
        if not self._size and len(last) <= self._max:
            record: Frame = last
        else:
            self._hold(last)
            record = bytes(self._held) if self._size <= self._max else Oversized(self._size, bytes(self._held))
            self._held.clear()
            self._size = 0
        if isinstance(record, Oversized) or (record := record.removesuffix(b"\r")).strip():
            yield record
