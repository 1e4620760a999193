"""The conversation of one run with its header, followed as it goes on.

It stays at its end until somebody scrolls up. However long a conversation is, only its last part is laid out; earlier
parts are brought on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from pi_subagents.clock import now_ms
from pi_subagents.errors import StoreError
from pi_subagents.export import Added, Conversation, Entry, Noticed
from pi_subagents.fold import RunState, fold
from pi_subagents.models.event import AnyEvent
from pi_subagents.progress import Window, header_segments
from pi_subagents.runs.live import POLL_S, RunFollower
from pi_subagents.surfaces.watch.blocks import Fold, Item, Items, Pressable, painted_lines
from pi_subagents.text import Line, Style, counted, printable

_SETTLE_S = 0.08
"""Somebody who runs down the list does not want every conversation on the way."""
PART = 100
"""Blocks that are laid out at a time."""
MAX_BLOCKS = 3 * PART
"""While a run is followed, the oldest blocks go when there are more."""


class Reading:
    """One run from its beginning on; its follower looks in a thread, `take` is for the program's own."""

    def __init__(self, run_dir: Path) -> None:
        self.state = RunState.of_run(run_dir.name)
        self.window = Window(self.state)
        self.follower = RunFollower(run_dir)
        self._conversation = Conversation()

    @property
    def is_over(self) -> bool:
        """Whether the run's end has been read."""
        return self.follower.ended

    def take(self, events: list[AnyEvent]) -> list[Entry]:
        """The entries that the events complete."""
        entries: list[Entry] = []
        for event in events:
            fold(self.state, [event])
            self.window.apply(event)
            entries += self._conversation.take(event)
        return entries


class Timeline(VerticalScroll):
    """The blocks, and below them what is going on right now."""

    def __init__(self) -> None:
        super().__init__()
        self._items = Items()
        self._first = 0
        self._unfolded = False
        self._earlier = Pressable(self.show_earlier, id="earlier")
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


class ConversationView(Vertical):
    """One run at a time: what it is, and what was said and done in it."""

    def __init__(self) -> None:
        super().__init__()
        self.reading: Reading | None = None
        self._origin: Line = []
        self._wanted: Path | None = None
        self._header = Static(id="header", markup=False)
        self._painted = Content()
        self.timeline = Timeline()

    def compose(self) -> ComposeResult:
        yield self._header
        yield self.timeline

    def read(self, run_dir: Path | None, origin: Line) -> None:
        """Show a run from now on, or nothing; `origin` says below its header where it comes from."""
        self._origin = origin
        if run_dir != self._wanted:
            self._wanted = run_dir
            self.run_worker(self._follow(run_dir), exclusive=True, group="conversation")

    async def _follow(self, run_dir: Path | None) -> None:
        await asyncio.sleep(_SETTLE_S)
        self.reading = None
        if run_dir is None:
            self._painted = Content()
            self._header.update("")
            await self.timeline.begin(Items())
            return
        reading, items = Reading(run_dir), Items()
        try:
            while not (reading.is_over or reading.follower.at_end):
                items.take(reading.take(await asyncio.to_thread(reading.follower.look)))
                items.forget(len(items.held) - PART)
            await self._begin(reading, items)
            while not reading.is_over:
                await asyncio.sleep(POLL_S)
                if events := await asyncio.to_thread(reading.follower.look):
                    await self._go_on(reading, reading.take(events))
        except StoreError as error:
            items.take([Noticed(printable(str(error)), "error")])
            await self._begin(reading, items)

    async def _begin(self, reading: Reading, items: Items) -> None:
        self.reading = reading
        if reading.state.prompt:
            items.put_first(Added("Task", printable(reading.state.prompt)))
        with self.app.batch_update():
            self.paint_header()
            self.timeline.show_live(_live_lines(reading))
            await self.timeline.begin(items)

    async def _go_on(self, reading: Reading, entries: list[Entry]) -> None:
        with self.app.batch_update():
            self.timeline.show_live(_live_lines(reading))
            await self.timeline.go_on(entries)
            self.paint_header()

    def paint_header(self) -> None:
        """Draw the header again: time passes."""
        if self.reading is None:
            return
        width = self._header.content_size.width or None
        line = header_segments(self.reading.window, now_ms(), figures=True, width=width)
        content = painted_lines([line, self._origin])
        if content != self._painted:
            self._painted = content
            self._header.update(content, layout=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self.paint_header)


def _live_lines(reading: Reading) -> list[Line]:
    lines: list[Line] = [[segment] for segment in reading.window.live_lines]
    if not lines and not reading.state.message_count and not reading.is_over:
        lines = [[(Style.DIM, "(starting...)")]]
    return lines
