"""The conversation of one run with its header, followed as it goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from pi_subagents.clock import now_ms
from pi_subagents.errors import StoreError
from pi_subagents.export import Added, Entry, Noticed
from pi_subagents.progress import header_segments
from pi_subagents.runs.following import POLL_S
from pi_subagents.surfaces.watch.colours import painted_lines
from pi_subagents.surfaces.watch.items import Items
from pi_subagents.surfaces.watch.reading import Reading
from pi_subagents.surfaces.watch.timeline import PART, Timeline
from pi_subagents.text import Line, Style, printable

_SETTLE_S = 0.08
"""Somebody who runs down the list does not want every conversation on the way."""


class ConversationView(Vertical):
    """One run at a time: what it is, and what was said and done in it."""

    def __init__(self) -> None:
        super().__init__()
        self.reading: Reading | None = None
        self._origin: Line = []
        self._wanted: Path | None = None
        self._header = Static(id="header", markup=False)
        self._painted = Content()
        self._timeline = Timeline()

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._timeline

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
            await self._timeline.begin(Items())
            return
        reading, items = Reading(run_dir), Items()
        try:
            while not reading.at_end:
                items.take(reading.take(await asyncio.to_thread(reading.look)))
                items.forget(len(items.held) - PART)
            await self._begin(reading, items)
            while not reading.is_over:
                await asyncio.sleep(POLL_S)
                if events := await asyncio.to_thread(reading.look):
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
            self._timeline.show_live(_live_lines(reading))
            await self._timeline.begin(items)

    async def _go_on(self, reading: Reading, entries: list[Entry]) -> None:
        with self.app.batch_update():
            self._timeline.show_live(_live_lines(reading))
            await self._timeline.go_on(entries)
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

    def toggle_folds(self) -> None:
        """Unfold every tool call, or fold them again."""
        self._timeline.toggle_folds()

    def focus_conversation(self) -> None:
        """Let the keys scroll it."""
        self._timeline.focus()


def _live_lines(reading: Reading) -> list[Line]:
    lines: list[Line] = [[segment] for segment in reading.window.live_lines]
    if not lines and not reading.state.message_count and not reading.is_over:
        lines = [[(Style.DIM, "(starting...)")]]
    return lines
