"""The live view of a delegation: told of everything that happens, it draws at most twenty times a second.

Whatever happens to it, the runs go on: a terminal that is gone or a mistake here only ends the drawing. The terminal
is left as it was found, also when the program is stopped with Ctrl+Z or ends with an exception.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from pi_subagents.clock import now_ms
from pi_subagents.fold import RunState
from pi_subagents.models.event import Event
from pi_subagents.processes.interrupts import job_control
from pi_subagents.progress import Window
from pi_subagents.settings import Settings, preview_width
from pi_subagents.surfaces.live.keys import Controls, Entry, Key, Keyboard, key_of
from pi_subagents.surfaces.live.layout import Scene, closing_lines, compose, finished_lines
from pi_subagents.surfaces.live.screen import Interjections, LiveScreen, diverted_stderr, reflows
from pi_subagents.text import Line, Style
from pi_subagents.text.harmless import clean, painted, wants_colours

if TYPE_CHECKING:
    from pi_subagents.delegation.delegation import Delegation

FRAME_S = 0.05
IDLE_FRAME_S = 0.2
"""Without news only clocks and spinners move; five times a second is enough for those."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OneRun:
    """A single run that somebody else holds, how to stop and how to steer it: what a view needs of a delegation."""

    state: RunState
    settings: Settings
    ask_to_stop: Callable[[], None]
    tell: Callable[[str], Awaitable[str | None]]
    concurrency: int = 1
    task_count: int = 1

    @property
    def runs(self) -> Sequence[OneRun]:
        return (self,)

    def stop(self, session_id: str | None = None) -> None:
        """Ask it to end."""
        self.ask_to_stop()

    async def steer(self, session_id: str, text: str) -> str | None:
        """Tell its agent something; returns why not."""
        return await self.tell(text)


class LiveView:
    """Windows for the runs of one delegation, or for a run of somebody else that one can `leave` to itself."""

    def __init__(
        self,
        stream: TextIO | None = None,
        leave: Callable[[], None] | None = None,
        detach: Callable[[], None] | None = None,
    ) -> None:
        coloured = wants_colours(os.environ)
        self._screen = LiveScreen(stream or painted(sys.stderr), reflows=reflows(os.environ), coloured=coloured)
        self._keyboard = Keyboard(self._typed)
        self._controls = Controls()
        self._leave_it = leave
        self._detach = detach or leave
        self._interjections = Interjections()
        self._windows: dict[str, Window] = {}
        self._in_history: set[str] = set()
        self._shown: Delegation | OneRun | None = None
        self._news = asyncio.Event()
        self._telling: set[asyncio.Task[None]] = set()
        self._is_over = False

    def observe(self, state: RunState, events: Sequence[Event]) -> None:
        """Take in what happened in a run."""
        window = self._window(state)
        changed = False
        for event in events:
            changed = window.apply(event) or changed
        if changed:
            self._news.set()

    @asynccontextmanager
    async def showing(self, shown: Delegation | OneRun) -> AsyncIterator[None]:
        """Draw while the block runs; afterwards only history is left on the terminal."""
        self._shown = shown
        # On a resize at once, not with the next frame: while a window is dragged, each step is small enough to leave no
        # trace.
        signals = job_control(on_resize=self._draw_if_possible, before_stop=self._leave, after_continue=self._come_back)
        with diverted_stderr() as self._interjections, signals:
            drawing = asyncio.create_task(self._draw_until_cancelled())
            try:
                yield
            finally:
                drawing.cancel()
                await asyncio.wait([drawing])
                self._close()
        for line in self._interjections.take_all():
            sys.stderr.write(f"{line}\n")

    # --- drawing --------------------------------------------------------------------------------------------

    async def _draw_until_cancelled(self) -> None:
        while not self._is_over:
            self._news.clear()
            self._draw_if_possible()
            await asyncio.sleep(FRAME_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_FRAME_S - FRAME_S):
                    await self._news.wait()

    def _draw_if_possible(self) -> None:
        """Draw unless the shell has the terminal; a view that fails is over, and the terminal given back."""
        if self._is_over or not self._screen.is_ours() or not self._screen.accepts_output():
            return
        try:
            self._keyboard.open()
            self._draw()
        except OSError:  # the terminal is gone
            self._give_up()
        except Exception:  # noqa: BLE001 - a picture of the work must not end the work
            self._give_up()
            _log.exception("the live view failed; the runs continue without it")

    def _draw(self) -> None:
        size = self._screen.size()
        scene = self._scene(size)
        self._controls.settle([window.state.run_id for window in scene.running])
        self._screen.draw(compose(self._scene(size)), self._new_history(size.columns))

    def _new_history(self, columns: int) -> list[Line]:
        lines: list[Line] = [[(Style.TEXT, clean(text))] for text in self._interjections.take()]
        for run_id, window in self._windows.items():
            if window.state.status.is_terminal and run_id not in self._in_history:
                self._in_history.add(run_id)
                lines += finished_lines(window, now_ms(), columns)
        return lines

    def _close(self) -> None:
        """Replace the frame by what is worth keeping; also in the background, where nothing was drawn."""
        if self._is_over:
            return
        try:
            size = self._screen.size()
            closing = closing_lines(self._scene(size))
            # Apart from the answers, where they come to the same terminal; what else follows sees to that itself.
            gap: list[Line] = [[]] if closing and sys.stdout.isatty() else []
            self._screen.draw([], [*self._new_history(size.columns), *closing, *gap])
        except OSError:
            pass
        finally:
            self._give_up()

    def _give_up(self) -> None:
        self._is_over = True
        self._leave()

    # --- the terminal ---------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Take the frame away and give the terminal back."""
        self._keyboard.close()
        with suppress(OSError):
            self._screen.close()

    def _come_back(self) -> None:
        # Others have written since; the keyboard is opened anew because the shell may have set it as it likes.
        self._screen.forget()
        if self._screen.is_ours():
            self._keyboard.close()
        self._draw_if_possible()

    # --- what is shown --------------------------------------------------------------------------------------

    def _scene(self, size: os.terminal_size) -> Scene:
        assert self._shown is not None
        run_ids = [run.state.run_id for run in self._shown.runs]  # in the order of their tasks
        return Scene(
            windows=[self._windows[run_id] for run_id in run_ids if run_id in self._windows],
            columns=size.columns,
            rows=size.lines,
            now_ms=now_ms(),
            concurrency=self._shown.concurrency,
            total=self._shown.task_count,
            selected=self._controls.selected,
            expanded=self._controls.expanded,
            question=self._controls.question,
            entry=self._controls.entry,
            has_keys=self._keyboard.exists,
            can_leave=self._leave_it is not None,
            can_detach=self._detach is not None,
        )

    def _window(self, state: RunState) -> Window:
        window = self._windows.get(state.run_id)
        if window is None:
            assert self._shown is not None
            settings = self._shown.settings
            width = preview_width(settings, self._screen.size().columns)
            window = Window(state, max_lines=settings.max_lines_per_window, preview_width=width)
            self._windows[state.run_id] = window
        return window

    # --- keys -----------------------------------------------------------------------------------------------

    def _typed(self, sequence: bytes, is_last: bool) -> None:
        entry = self._controls.entry
        if entry is None:
            self._pressed(key_of(sequence))
            return
        if entry.take(sequence, is_last=is_last):
            self._controls.entry = None
            if entry.text.strip():
                telling = asyncio.get_running_loop().create_task(self._tell(entry))
                self._telling.add(telling)
                telling.add_done_callback(self._telling.discard)
        self._news.set()

    async def _tell(self, entry: Entry) -> None:
        """Steer an agent, and say whether that worked: what somebody has typed is not lost without a word."""
        assert self._shown is not None
        state, text = self._windows[entry.run_id].state, entry.text.strip()
        problem = await self._shown.steer(state.session_id, text)
        words = f"Not told {state.name}, because {problem}: {text}" if problem else f"Told {state.name}: {text}"
        self._interjections.write(f"{words}\n")
        self._news.set()

    def _pressed(self, key: Key) -> None:
        if self._controls.question is None:  # else any key is an answer
            if key is Key.QUIT and self._leave_it is not None:
                self._leave_it()
                return
            if key is Key.DETACH and self._detach is not None:
                self._detach()
                return
        assert self._shown is not None
        shown = [window.state.run_id for window in self._scene(self._screen.size()).running]
        stop = self._controls.press(key, shown)
        if stop is not None:
            window = self._windows.get(stop.run_id or "")
            self._shown.stop(window.state.session_id if window else None)
        self._news.set()
