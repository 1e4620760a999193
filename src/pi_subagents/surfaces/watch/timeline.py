"""A conversation's blocks one below the other, staying at its end until somebody scrolls up.

However long a conversation is, only its last part is laid out; earlier parts are brought on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from pi_subagents.export import Called, Entry, Returned
from pi_subagents.progress import Line, counted
from pi_subagents.surfaces.watch.blocks import CallBlock, Fold, block_of
from pi_subagents.surfaces.watch.colours import painted_lines

PART = 100
"""Blocks that are laid out at a time."""
MAX_BLOCKS = 3 * PART
"""While a run is followed, the oldest blocks go when there are more."""


@dataclass(slots=True)
class _Item:
    """An entry, for a call with its result, and its block while that is laid out."""

    entry: Entry
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


class Earlier(Static, can_focus=True):
    """Stands for the blocks that are not laid out."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "show", "Show", show=False)]

    def action_show(self) -> None:
        self.query_ancestor(Timeline).show_earlier()

    def on_click(self) -> None:
        self.action_show()


class Timeline(VerticalScroll):
    """The blocks, and below them what is going on right now."""

    def __init__(self) -> None:
        super().__init__()
        self._items: list[_Item] = []
        self._first = 0
        self._calls: dict[int, _Item] = {}
        self._unfolded = False
        self._earlier = Earlier(id="earlier", markup=False)
        self._live = Static(id="live", markup=False)
        self._blocks = Vertical(id="blocks")

    def compose(self) -> ComposeResult:
        with self._blocks:
            yield self._earlier
            yield self._live

    def on_mount(self) -> None:
        self.anchor()
        self._paint_earlier()
        self.show_live([])

    async def begin(self, entries: Sequence[Entry]) -> None:
        """Replace everything by these entries."""
        await self._remove(self._items[self._first :])
        self._items, self._calls = [], {}
        self._take(entries)
        self._first = max(len(self._items) - PART, 0)
        await self._mount_before(self._live, self._items[self._first :])
        self._paint_earlier()
        self.anchor()

    async def go_on(self, entries: Sequence[Entry]) -> None:
        """Add entries at the end."""
        before = len(self._items)
        self._take(entries)
        await self._mount_before(self._live, self._items[before:])
        if len(self._items) - self._first > MAX_BLOCKS and self._is_at_end:
            dropped = self._items[self._first : -PART]
            self._first += len(dropped)
            await self._remove(dropped)
            self._paint_earlier()

    def show_live(self, lines: list[Line]) -> None:
        """What is going on at this moment."""
        self._live.display = bool(lines)
        content = painted_lines(lines)
        height = len(content.wrap(max(self._live.size.width, 1)))
        # Laying out everything anew is dear; most of what streams in only makes the last line longer.
        self._live.update(content, layout=height != self._live.size.height)

    def show_earlier(self) -> None:
        """Lay out some of the earlier blocks."""
        start = max(self._first - PART, 0)
        items, self._first = self._items[start : self._first], start
        if items:
            self.release_anchor()
            self._blocks.mount(*self._laid_out(items), after=self._earlier)
        self._paint_earlier()

    def toggle_folds(self) -> None:
        """Unfold every tool call, or fold them again."""
        self._unfolded = not self._unfolded
        for item in self._items:
            if isinstance(item.block, Fold):
                item.block.set_open(self._unfolded)

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, Returned) and (call := self._calls.pop(id(entry.call), None)):
                call.answer(entry)
                continue
            item = _Item(entry)
            self._items.append(item)
            if isinstance(entry, Called):
                self._calls[id(entry)] = item

    async def _mount_before(self, widget: Widget, items: Sequence[_Item]) -> None:
        if items:
            await self._blocks.mount(*self._laid_out(items), before=widget)

    def _laid_out(self, items: Sequence[_Item]) -> list[Widget]:
        return [item.lay_out(unfolded=self._unfolded) for item in items]

    async def _remove(self, items: Sequence[_Item]) -> None:
        blocks = [item.block for item in items if item.block is not None]
        for item in items:
            item.block = None
        await self._blocks.remove_children(blocks)

    @property
    def _is_at_end(self) -> bool:
        return self.scroll_y >= self.max_scroll_y - 1

    def _paint_earlier(self) -> None:
        self._earlier.display = self._first > 0
        self._earlier.update(f"▲ {counted(self._first, 'earlier block')}: enter shows {min(self._first, PART)} more")
