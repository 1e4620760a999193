"""Calls together with their results, for a page that is written from its beginning to its end.

A result comes some time after its call. What was said and done meanwhile waits with the call, but only so much of it: a
result that comes later than that stands where it came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pi_subagents.export.entries import Called, Entry, Returned, entry_size

_MAX_WAITING = 1000
_MAX_WAITING_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class Placed:
    """An entry and its number among all; for a call, with the result that answers it."""

    number: int
    entry: Entry
    size: int
    result: Returned | None = None

    @property
    def waits(self) -> bool:
        return isinstance(self.entry, Called) and self.result is None


def paired(entries: Iterable[Entry]) -> Iterator[Placed]:
    """The entries in their order."""
    queue: deque[Placed] = deque()
    unanswered: dict[int, Placed] = {}
    waiting_bytes = 0
    for number, entry in enumerate(entries):
        size = entry_size(entry)
        waiting_bytes += size
        if isinstance(entry, Returned) and (call := unanswered.pop(id(entry.call), None)):
            call.result = entry
            call.size += size
        else:
            placed = Placed(number, entry, size)
            queue.append(placed)
            if placed.waits:
                unanswered[id(entry)] = placed
        while queue and (not queue[0].waits or len(queue) > _MAX_WAITING or waiting_bytes > _MAX_WAITING_BYTES):
            placed = queue.popleft()
            unanswered.pop(id(placed.entry), None)
            waiting_bytes -= placed.size
            yield placed
    yield from queue
