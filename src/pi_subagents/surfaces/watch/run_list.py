"""The list of runs: a widget that draws only what is on the screen and only what has changed.

A run is three lines beside the conversation, one above it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
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
from pi_subagents.models import Status
from pi_subagents.progress import cost_figure, unusual_standing
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.surfaces.watch.blocks import painted
from pi_subagents.text import age, cell_width, clean, clip, counted, duration, one_line, short_count
from pi_subagents.text.segments import Line, Style, fit, plain

TALL, FLAT = 3, 1
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ICONS = {"completed": ("✓", Style.SUCCESS), "error": ("✗", Style.ERROR)}
_FIGURE_CELLS = (7, 8, 9, 8)
"""For time, tools, tokens and cost."""
_BESIDE_NAME = 2 + sum(cells + 1 for cells in _FIGURE_CELLS)
_MIN_WORD_CELLS = 8
_MIN_NAME_CELLS = 20
"""Where this does not fit beside all figures, the last ones go."""


def tall_row(run: WatchedRun, width: int, now_ms: int, *, with_project: bool) -> list[Line]:
    """Name and time, figures and agent, last words."""
    return [
        _spread([*_icon(run, now_ms), (Style.BOLD, name_of_run(run))], _when(run, now_ms), width),
        fit([(Style.TEXT, "  "), (Style.MUTED, " · ".join(_facts(run, with_project)))], width),
        fit([(Style.TEXT, "  "), *run.words], width),
    ]


def name_cells(runs: Iterable[WatchedRun], width: int) -> int:
    """How wide the names of flat rows are: as the longest of them, if the figures beside them leave so much."""
    longest = max((cell_width(name_of_run(run)) for run in runs), default=0)
    return max(min(longest, width - _BESIDE_NAME), _MIN_NAME_CELLS)


def flat_row(run: WatchedRun, width: int, now_ms: int, *, with_project: bool, names: int) -> list[Line]:
    """Name, time, tools, tokens and cost in columns, then the agent and the last words as far as they fit.

    `names` is how many cells a name has.
    """
    name = clip(name_of_run(run), names)
    figures = (_elapsed(run, now_ms), _tools(run), _tokens(run), _cost(run).removeprefix("cost "))
    line = [*_icon(run, now_ms), (Style.BOLD, name + " " * (names - cell_width(name)))]
    line += [(Style.MUTED, f" {figure:>{cells}}") for figure, cells in zip(figures, _FIGURE_CELLS, strict=True)]
    if unusual := _unusual(run):
        line += [(Style.TEXT, "  "), (Style.WARNING, unusual)]
    agent = " · ".join(filter(None, _origin(run, with_project)))
    more = run.words if plain(run.words).strip() else [(Style.MUTED, agent)]
    if cell_width(plain(line)) + _MIN_WORD_CELLS <= width:
        line += [(Style.TEXT, "  "), *more]
    return [fit(line, width)]


def _spread(left: Line, right: str, width: int) -> Line:
    """One piece at each end of the line."""
    room = max(width - cell_width(right) - 1, 0)
    left = fit(left, room)
    gap = max(width - cell_width(plain(left)) - cell_width(right), 0)
    return [*left, (Style.TEXT, " " * gap), (Style.MUTED, right)]


def _icon(run: WatchedRun, now_ms: int) -> Line:
    icon, style = _ICONS.get(run.window.status, (SPINNER[now_ms // 250 % len(SPINNER)], Style.WARNING))
    if run.state.status is Status.QUEUED:
        icon = "·"
    return [(style, icon), (Style.TEXT, " ")]


def name_of_run(run: WatchedRun) -> str:
    """The task's name on one line."""
    return one_line(run.state.name) or "(unnamed)"


def _when(run: WatchedRun, now_ms: int) -> str:
    took = _elapsed(run, now_ms)
    is_over, begun = run.state.status.is_terminal, run.state.created_at
    return f"{took} · {age(now_ms - begun)} ago" if is_over and begun is not None else took


def _elapsed(run: WatchedRun, now_ms: int) -> str:
    if run.state.status is Status.QUEUED:
        return "waiting"
    seconds = run.window.elapsed_ms(now_ms) / 1000
    return f"{seconds:.0f}s" if 10 <= seconds < 59.5 else duration(seconds)


def _facts(run: WatchedRun, with_project: bool) -> Iterator[str]:
    agent, *rest = _origin(run, with_project)
    yield from filter(None, (_unusual(run), agent, _tools(run), _tokens(run), _cost(run), *rest))


def _unusual(run: WatchedRun) -> str:
    return unusual_standing(run.state)


def _origin(run: WatchedRun, with_project: bool) -> Iterator[str]:
    project = run.project.name if with_project else None
    agent = "/".join(dict.fromkeys(filter(None, (run.state.asked_as, run.state.other_agent))))
    for part in (agent, run.state.model, project):
        yield clean(part or "")


def _tools(run: WatchedRun) -> str:
    return counted(run.state.tool_count, "tool") if run.state.tool_count else ""


def _tokens(run: WatchedRun) -> str:
    return f"{short_count(run.state.usage.total_tokens)} tok" if run.state.usage.total_tokens else ""


def _cost(run: WatchedRun) -> str:
    return cost_figure(run.state)


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
        self.runs: list[WatchedRun] = []
        self.chosen: WatchedRun | None = None
        self._wanted: str | None = None
        self._rows: dict[WatchedRun, list[Line]] = {}
        self._name_cells = 0

    @property
    def visible_runs(self) -> list[WatchedRun]:
        """Those on the screen."""
        first = int(self.scroll_offset.y) // self.row_height
        return self.runs[first : first + self.size.height // self.row_height + 2]

    def choose_when_listed(self, session_id: str) -> None:
        """Choose a session as soon as it is in the list."""
        self._wanted = session_id

    def show(self, runs: Sequence[WatchedRun]) -> None:
        """Replace the runs."""
        before = self.chosen
        self.runs = list(runs)
        self.chosen = self._of_session(self._wanted) or (self._of_session(before.session_id) if before else None)
        if self.chosen is not None and self.chosen.session_id == self._wanted:
            self._wanted = None
        if self.chosen is None and runs:
            self.chosen = runs[0]
        self._measure()
        if self.chosen is not before:
            self.post_message(self.Chosen(self.chosen))

    def _of_session(self, session_id: str | None) -> WatchedRun | None:
        return next((run for run in self.runs if run.session_id == session_id), None)

    def show_news(self, runs: Collection[WatchedRun]) -> None:
        """Draw those again that have changed; of those that are active at least the time has."""
        for position, run in enumerate(self.runs):
            if run in runs:
                self.refresh_lines(position * self.row_height, self.row_height)
            elif run.is_active:
                self.refresh_line(position * self.row_height)

    # --- drawing --------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One line of one row."""
        width = self.scrollable_content_region.width
        position, line = divmod(int(self.scroll_offset.y) + y, self.row_height)
        if position >= len(self.runs):
            return Strip.blank(width, self.rich_style)
        run = self.runs[position]
        style = self._chosen_style if run is self.chosen else self.visual_style
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
        height = len(self.runs) * self.row_height
        self.virtual_size = Size(self.scrollable_content_region.width, height)
        self._name_cells = name_cells(self.runs, self.scrollable_content_region.width - 2)
        self.refresh()
        if self.chosen in self.runs:
            self._bring_into_view()

    # --- choosing -------------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """Choose a neighbour."""
        if self.runs:
            self._choose(min(max(self._position() + step, 0), len(self.runs) - 1))

    def action_page(self, step: int) -> None:
        """Choose a run about a screen away."""
        self.action_move(step * max(self.size.height // self.row_height - 1, 1))

    def action_choose(self, position: int) -> None:
        """Choose the first run, or with -1 the last."""
        if self.runs:
            self._choose(position % len(self.runs))

    def on_click(self, event: Click) -> None:
        """Choose the run under the pointer."""
        position = (int(self.scroll_offset.y) + event.y) // self.row_height
        if position < len(self.runs):
            self._choose(position)

    def _position(self) -> int:
        return self.runs.index(self.chosen) if self.chosen in self.runs else 0

    def _choose(self, position: int) -> None:
        before, self.chosen = self.chosen, self.runs[position]
        self._bring_into_view()
        self.refresh()
        if self.chosen is not before:
            self.post_message(self.Chosen(self.chosen))

    def _bring_into_view(self) -> None:
        region = Region(0, self._position() * self.row_height, 1, self.row_height)
        self.scroll_to_region(region, animate=False, force=True, x_axis=False)
