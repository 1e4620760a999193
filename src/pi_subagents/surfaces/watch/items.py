"""The blocks of a conversation, whether they are laid out or not: the latest of them, within a bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from textual.widget import Widget

from pi_subagents.export import Called, Entry, Returned, entry_size
from pi_subagents.surfaces.watch.blocks import CallBlock, Fold, block_of

MAX_ITEMS = 20_000
MAX_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class Item:
    """An entry, for a call with its result, and its block while that is laid out."""

    entry: Entry
    size: int
    result: Returned | None = None
    block: Widget | None = None

    def lay_out(self, *, unfolded: bool) -> Widget:
        self.block = block_of(self.entry)
        if isinstance(self.block, CallBlock) and self.result is not None:
            self.block.answer(self.result)
        if isinstance(self.block, Fold):
            self.block.set_open(unfolded)
        return self.block

    def answer(self, result: Returned) -> None:
        self.result = result
        if isinstance(self.block, CallBlock):
            self.block.answer(result)


class Items:
    """The items in their order; `forgotten` is how many there were before them."""

    def __init__(self) -> None:
        self.held: list[Item] = []
        self.forgotten = 0
        self._bytes = 0
        self._calls: dict[int, Item] = {}

    def take(self, entries: Iterable[Entry]) -> None:
        """Add entries at the end; results go to their calls."""
        for entry in entries:
            size = entry_size(entry)
            self._bytes += size
            if isinstance(entry, Returned) and (call := self._calls.pop(id(entry.call), None)):
                call.size += size
                call.answer(entry)
                continue
            item = Item(entry, size)
            self.held.append(item)
            if isinstance(entry, Called):
                self._calls[id(entry)] = item

    def put_first(self, entry: Entry) -> None:
        """Add an entry before all others."""
        self.held.insert(0, Item(entry, 0))

    def forget(self, most: int) -> int:
        """Let go of the oldest items that are too many or too much, `most` of them; returns how many."""
        count, size = 0, self._bytes
        while count < most and (len(self.held) - count > MAX_ITEMS or size > MAX_BYTES):
            item = self.held[count]
            self._calls.pop(id(item.entry), None)
            size -= item.size
            count += 1
        del self.held[:count]
        self._bytes = size
        self.forgotten += count
        return count
