"""The list of runs: a widget that draws only what is on the screen and only what has changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.visual import Visual

from pi_subagents.clock import now_ms
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.surfaces.watch.colours import painted
from pi_subagents.surfaces.watch.rows import flat_row, name_cells, tall_row
from pi_subagents.text import Line, Style

TALL, FLAT = 3, 1


class RunList(ScrollView, can_focus=True):
    """Runs one below the other, one of them chosen. The choice stays with its session, wherever that moves to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "choose(0)", "First", show=False),
        Binding("end,G", "choose(-1)", "Last", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"row--chosen"}

    row_height = reactive(TALL)
    with_project = reactive(True)

    class Chosen(Message):
        """Another run is chosen, or the chosen session has another run now; None: there is none."""

        def __init__(self, run: WatchedRun | None) -> None:
            super().__init__()
            self.run = run

    def __init__(self) -> None:
        super().__init__()
        self._runs: list[WatchedRun] = []
        self._chosen: WatchedRun | None = None
        self._wanted: str | None = None
        self._rows: dict[WatchedRun, list[Line]] = {}
        self._name_cells = 0

    @property
    def chosen(self) -> WatchedRun | None:
        return self._chosen

    @property
    def runs(self) -> list[WatchedRun]:
        """All in the list, from the top."""
        return list(self._runs)

    @property
    def visible_runs(self) -> list[WatchedRun]:
        """Those on the screen."""
        first = int(self.scroll_offset.y) // self.row_height
        return self._runs[first : first + self.size.height // self.row_height + 2]

    def choose_when_listed(self, session_id: str) -> None:
        """Choose a session as soon as it is in the list."""
        self._wanted = session_id

    def show(self, runs: Sequence[WatchedRun]) -> None:
        """Replace the runs."""
        before = self._chosen
        self._runs = list(runs)
        self._chosen = self._of_session(self._wanted) or (self._of_session(before.session_id) if before else None)
        if self._chosen is not None and self._chosen.session_id == self._wanted:
            self._wanted = None
        if self._chosen is None and runs:
            self._chosen = runs[0]
        self._measure()
        if self._chosen is not before:
            self.post_message(self.Chosen(self._chosen))

    def _of_session(self, session_id: str | None) -> WatchedRun | None:
        return next((run for run in self._runs if run.session_id == session_id), None)

    def show_news(self, runs: Collection[WatchedRun]) -> None:
        """Draw those again that have changed; of those that are active at least the time has."""
        for position, run in enumerate(self._runs):
            if run in runs:
                self.refresh_lines(position * self.row_height, self.row_height)
            elif run.is_active:
                self.refresh_line(position * self.row_height)

    # --- drawing --------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of one row."""
        width = self.scrollable_content_region.width
        position, line = divmod(int(self.scroll_offset.y) + y, self.row_height)
        if position >= len(self._runs):
            return Strip.blank(width, self.rich_style)
        run = self._runs[position]
        style = self._chosen_style if run is self._chosen else self.visual_style
        content = painted([(Style.TEXT, " "), *self._row(run, max(width - 2, 0))[line]])
        return Visual.to_strips(self, content, width, 1, style, pad=True, apply_selection=False)[0]

    @property
    def _chosen_style(self) -> VisualStyle:
        style = self.get_visual_style("row--chosen")
        if not self.app.no_color:
            return style
        # Not in the stylesheet: a component's style has no `reverse`.
        return style + VisualStyle(reverse=self.has_focus, underline=not self.has_focus)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a part of the list, each row of it made once."""
        self._rows.clear()
        return super().render_lines(crop)

    def _row(self, run: WatchedRun, width: int) -> list[Line]:
        lines = self._rows.get(run)
        if lines is None:
            with_project = self.with_project
            if self.row_height == TALL:
                lines = tall_row(run, width, now_ms(), with_project=with_project)
            else:
                lines = flat_row(run, width, now_ms(), with_project=with_project, names=self._name_cells)
            self._rows[run] = lines
        return lines

    def watch_row_height(self) -> None:
        self._measure()

    def on_resize(self) -> None:
        self._measure()

    def _measure(self) -> None:
        height = len(self._runs) * self.row_height
        self.virtual_size = Size(self.scrollable_content_region.width, height)
        self._name_cells = name_cells(self._runs, self.scrollable_content_region.width - 2)
        self.refresh()
        if self._chosen in self._runs:
            self._bring_into_view()

    # --- choosing -------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """Choose a neighbour."""
        if self._runs:
            self._choose(min(max(self._position() + step, 0), len(self._runs) - 1))

    def action_page(self, step: int) -> None:
        """Choose a run about a screen away."""
        self.action_move(step * max(self.size.height // self.row_height - 1, 1))

    def action_choose(self, position: int) -> None:
        """Choose the first run, or with -1 the last."""
        if self._runs:
            self._choose(position % len(self._runs))

    def on_click(self, event: Click) -> None:
        """Choose the run under the pointer."""
        position = (int(self.scroll_offset.y) + event.y) // self.row_height
        if position < len(self._runs):
            self._choose(position)

    def _position(self) -> int:
        return self._runs.index(self._chosen) if self._chosen in self._runs else 0

    def _choose(self, position: int) -> None:
        before, self._chosen = self._chosen, self._runs[position]
        self._bring_into_view()
        self.refresh()
        if self._chosen is not before:
            self.post_message(self.Chosen(self._chosen))

    def _bring_into_view(self) -> None:
        region = Region(0, self._position() * self.row_height, 1, self.row_height)
        self.scroll_to_region(region, animate=False, force=True, x_axis=False)
