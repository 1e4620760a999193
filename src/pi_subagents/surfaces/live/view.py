"""The live view of a delegation: told of everything that happens, it draws at most twenty times a second."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

from pi_subagents.clock import now_ms
from pi_subagents.fold import RunState
from pi_subagents.models import Status
from pi_subagents.models.event import Event
from pi_subagents.progress import Line, Window
from pi_subagents.service import Delegation
from pi_subagents.settings import preview_width
from pi_subagents.surfaces.live.keys import Key, listening
from pi_subagents.surfaces.live.layout import Scene, compose, finished_lines
from pi_subagents.surfaces.live.screen import Screen

FRAME_S = 0.05
IDLE_FRAME_S = 0.5
"""Without news only clocks and spinners move; twice a second is enough for those."""


class LiveView:
    """Windows for the runs of one delegation."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._screen = Screen(stream or sys.stderr)
        self._windows: dict[str, Window] = {}
        self._in_history: set[str] = set()
        self._delegation: Delegation | None = None
        self._news = asyncio.Event()
        self._selected: str | None = None
        self._expanded = False
        self._asking = False
        self._stopping = False

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Take in what happened in a run."""
        window = self._window(state)
        changed = [window.apply(event) for event in events]
        if any(changed):
            self._news.set()

    @asynccontextmanager
    async def showing(self, delegation: Delegation) -> AsyncIterator[None]:
        """Draw while the block runs; afterwards only history is left on the terminal."""
        self._delegation = delegation
        with listening(self._pressed):
            drawing = asyncio.create_task(self._draw_until_cancelled())
            try:
                yield
            finally:
                drawing.cancel()
                await asyncio.wait([drawing])
                self._draw()
                self._screen.close()

    # --- drawing --------------------------------------------------------------------------------------------

    async def _draw_until_cancelled(self) -> None:
        while True:
            self._news.clear()
            self._draw()
            await asyncio.sleep(FRAME_S)
            try:
                async with asyncio.timeout(IDLE_FRAME_S - FRAME_S):
                    await self._news.wait()
            except TimeoutError:
                pass

    def _draw(self) -> None:
        assert self._delegation is not None
        above: list[Line] = []
        for run_id, window in self._windows.items():
            if window.state.status.is_terminal and run_id not in self._in_history:
                self._in_history.add(run_id)
                above += finished_lines(window, now_ms())
        size = self._screen.size()
        scene = self._scene(size.columns, size.lines)
        self._screen.draw(compose(scene), above)

    def _scene(self, columns: int, rows: int) -> Scene:
        assert self._delegation is not None
        shown = self._shown()
        if self._selected not in [window.state.run_id for window in shown]:
            self._selected = shown[0].state.run_id if shown else None
            self._expanded = False
        return Scene(
            windows=shown,
            all_windows=list(self._windows.values()),
            columns=columns,
            rows=rows,
            now_ms=now_ms(),
            concurrency=self._delegation.concurrency,
            total=self._delegation.task_count,
            selected=self._selected,
            expanded=self._expanded,
            asking=self._asking,
            stopping=self._stopping,
        )

    def _shown(self) -> list[Window]:
        return [window for window in self._windows.values() if window.state.status is Status.RUNNING]

    def _window(self, state: RunState) -> Window:
        window = self._windows.get(state.run_id)
        if window is None:
            assert self._delegation is not None
            settings = self._delegation.settings
            width = preview_width(settings, self._screen.size().columns)
            window = Window(state, max_lines=settings.max_lines_per_window, preview_width=width)
            self._windows[state.run_id] = window
        return window

    # --- keys -----------------------------------------------------------------------------------------------

    def _pressed(self, key: Key) -> None:
        assert self._delegation is not None
        asked, self._asking = self._asking, False
        if key is Key.QUIT and asked:
            self._stopping = True
            self._delegation.stop()
        elif key is Key.QUIT:
            self._asking = True
        elif key is Key.STOP and (window := self._windows.get(self._selected or "")):
            self._delegation.stop(window.state.session_id)
        elif key is Key.EXPAND:
            self._expanded = not self._expanded
        elif key in (Key.UP, Key.DOWN):
            self._select(1 if key is Key.DOWN else -1)
        self._news.set()

    def _select(self, step: int) -> None:
        ids = [window.state.run_id for window in self._shown()]
        if ids:
            at = ids.index(self._selected) if self._selected in ids else 0
            self._selected = ids[(at + step) % len(ids)]
            self._expanded = False
