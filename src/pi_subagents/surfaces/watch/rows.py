"""A run in the list as styled lines: three beside the conversation, one above it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pi_subagents.models import Status
from pi_subagents.progress import unusual_standing
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.text import (
    Line,
    Style,
    age,
    cell_width,
    clean,
    clip,
    counted,
    duration,
    fit,
    money,
    plain,
    short_count,
)

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
        _spread([*_icon(run, now_ms), (Style.BOLD, _name(run))], _when(run, now_ms), width),
        fit([(Style.TEXT, "  "), (Style.MUTED, " · ".join(_facts(run, with_project)))], width),
        fit([(Style.TEXT, "  "), *run.words], width),
    ]


def name_cells(runs: Iterable[WatchedRun], width: int) -> int:
    """How wide the names of flat rows are: as the longest of them, if the figures beside them leave so much."""
    longest = max((cell_width(_name(run)) for run in runs), default=0)
    return max(min(longest, width - _BESIDE_NAME), _MIN_NAME_CELLS)


def flat_row(run: WatchedRun, width: int, now_ms: int, *, with_project: bool, names: int) -> list[Line]:
    """Name, time, tools, tokens and cost in columns, then the agent and the last words as far as they fit.

    `names` is how many cells a name has.
    """
    name = clip(_name(run), names)
    figures = (_elapsed(run, now_ms), _tools(run), _tokens(run), _cost(run))
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


def _name(run: WatchedRun) -> str:
    return " ".join(clean(run.state.name).split()) or "(unnamed)"


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
    return unusual_standing(run.state.status, run.state.is_damaged)


def _origin(run: WatchedRun, with_project: bool) -> Iterator[str]:
    project = run.project.name if with_project else None
    for part in (run.state.agent, run.state.model, project):
        yield clean(part or "")


def _tools(run: WatchedRun) -> str:
    return counted(run.state.tool_count, "tool") if run.state.tool_count else ""


def _tokens(run: WatchedRun) -> str:
    return f"{short_count(run.state.usage.total_tokens)} tok" if run.state.usage.total_tokens else ""


def _cost(run: WatchedRun) -> str:
    return money(run.state.usage.cost) if run.state.usage.cost else ""
