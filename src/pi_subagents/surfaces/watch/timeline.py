"""A conversation's blocks one below the other, staying at its end until somebody scrolls up.

However long a conversation is, only its last part is laid out; earlier parts are brought on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from pi_subagents.export import Entry
from pi_subagents.surfaces.watch.blocks import Fold
from pi_subagents.surfaces.watch.colours import painted_lines
from pi_subagents.surfaces.watch.items import Item, Items
from pi_subagents.text import Line, counted

PART = 100
"""Blocks that are laid out at a time."""
MAX_BLOCKS = 3 * PART
"""While a run is followed, the oldest blocks go when there are more."""


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
        self._items = Items()
        self._first = 0
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

    async def begin(self, items: Items) -> None:
        """Replace everything by these items."""
        await self._remove(self._items.held[self._first :])
        self._items = items
        self._first = max(len(items.held) - PART, 0)
        await self._mount_before(self._live, items.held[self._first :])
        self._paint_earlier()
        self.anchor()

    async def go_on(self, entries: Sequence[Entry]) -> None:
        """Add entries at the end."""
        items = self._items
        before = len(items.held)
        items.take(entries)
        await self._mount_before(self._live, items.held[before:])
        if len(items.held) - self._first > MAX_BLOCKS and self._is_at_end:
            dropped = items.held[self._first : -PART]
            self._first += len(dropped)
            await self._remove(dropped)
            self._first -= items.forget(self._first)
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
        items, self._first = self._items.held[start : self._first], start
        if items:
            self.release_anchor()
            self._blocks.mount(*self._laid_out(items), after=self._earlier)
        self._paint_earlier()

    def toggle_folds(self) -> None:
        """Unfold every tool call, or fold them again."""
        self._unfolded = not self._unfolded
        for item in self._items.held:
            if isinstance(item.block, Fold):
                item.block.set_open(self._unfolded)

    async def _mount_before(self, widget: Widget, items: Sequence[Item]) -> None:
        if items:
            await self._blocks.mount(*self._laid_out(items), before=widget)

    def _laid_out(self, items: Sequence[Item]) -> list[Widget]:
        return [item.lay_out(unfolded=self._unfolded) for item in items]

    async def _remove(self, items: Sequence[Item]) -> None:
        blocks = [item.block for item in items if item.block is not None]
        for item in items:
            item.block = None
        await self._blocks.remove_children(blocks)

    @property
    def _is_at_end(self) -> bool:
        return self.scroll_y >= self.max_scroll_y - 1

    def _paint_earlier(self) -> None:
        forgotten = self._items.forgotten
        words = [f"{counted(self._first, 'earlier block')}: enter shows {min(self._first, PART)} more"]
        if forgotten:
            words = [*(words if self._first else []), f"{forgotten:,} before that are in the exported page only"]
        self._earlier.display = self._first > 0 or forgotten > 0
        self._earlier.update(f"▲ {' • '.join(words)}")
