"""Splits a byte stream into LF-terminated records within a fixed amount of memory.

Only LF ends a record (U+2028 and friends are legal inside JSON strings), and bytes are never decoded here,
so a record that is split inside a multi-byte character arrives whole. A record beyond the limit is dropped
while it streams in; its first bytes are kept so that a reader can still say what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_RECORD_BYTES = 32 * 1024 * 1024
"""A conversation of many large tool results repeated in one `agent_end` stays below this."""

_HEAD_BYTES = 256


@dataclass(frozen=True, slots=True)
class Oversized:
    """A record that was dropped because it exceeded the limit."""

    size: int
    head: bytes


Frame = bytes | Oversized


class Framer:
    """Turns chunks into frames; `feed` with every chunk, `finish` once at the end of the stream."""

    def __init__(self, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._max = max_record_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._dropped = 0
        self._head = b""

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """Yield every record that `chunk` completes, without its line ending; blank records are skipped."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(chunk[start:end])
            yield from self._take()
            start = end + 1
        if start < len(chunk):
            self._hold(chunk[start:] if start else chunk)

    def finish(self) -> Iterator[Frame]:
        """Yield what is left over when the stream ends without a final line ending."""
        yield from self._take()

    def _hold(self, part: bytes) -> None:
        if self._dropped:
            self._dropped += len(part)
            return
        self._parts.append(part)
        self._held += len(part)
        if self._held > self._max:
            self._head = b"".join(self._parts)[:_HEAD_BYTES]
            self._dropped, self._held = self._held, 0
            self._parts.clear()

    def _take(self) -> Iterator[Frame]:
        if self._dropped:
            frame: Frame = Oversized(self._dropped, self._head)
            self._dropped, self._head = 0, b""
            yield frame
            return
        record = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        record = record.removesuffix(b"\r")
        if record.strip():
            yield record
