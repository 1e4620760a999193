"""The latest messages of a run, as many of them as are held in memory: the journal on disk has all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec

from pi_subagents.encoding import size_of
from pi_subagents.models import event as ev

MAX_MESSAGES_IN_MEMORY = 500
MAX_MESSAGE_BYTES_IN_MEMORY = 4 * 1024 * 1024


class RecentMessages(msgspec.Struct):
    """The latest messages of a run: so many, and so much of them; the last one is always there."""

    _messages: deque[ev.Message] = msgspec.field(default_factory=deque)
    _sizes: deque[int] = msgspec.field(default_factory=deque)
    _bytes: int = 0

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[ev.Message]:
        return iter(self._messages)

    def __getitem__(self, index: int) -> ev.Message:
        return self._messages[index]

    def append(self, message: ev.Message) -> None:
        """Add a message, in place of the oldest ones if it needs their room."""
        size = size_of(message)
        self._messages.append(message)
        self._sizes.append(size)
        self._bytes += size
        while len(self) > 1 and (len(self) > MAX_MESSAGES_IN_MEMORY or self._bytes > MAX_MESSAGE_BYTES_IN_MEMORY):
            self._messages.popleft()
            self._bytes -= self._sizes.popleft()
