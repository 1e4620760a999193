"""The line above a window: who works, as what, how long, and what it has cost so far.

Where it does not fit, what is missed least goes first; who works and for how long stay to the last.
"""

from __future__ import annotations

from collections.abc import Iterator

from pi_subagents.progress.arguments import one_line
from pi_subagents.progress.windows import Window
from pi_subagents.text import counted
from pi_subagents.text.cells import cell_width, clip
from pi_subagents.text.figures import money, short_count
from pi_subagents.text.segments import Line, Segment, Style, fit, plain

ICONS = {"running": "⏳", "completed": "✓", "error": "✗"}
ICON_STYLES = {"running": Style.WARNING, "completed": Style.SUCCESS, "error": Style.ERROR}
BULLET: Segment = (Style.DIM, " • ")
_LEAVE_OUT = ("model", "profile", "tokens", "cost", "tools", "timeout", "todos")
"""In this order, until the line fits."""
_MIN_NAME_CELLS = 12
_MAX_NAME_CELLS = 400
"""No terminal is wider, and a name may be."""


def header_segments(
    window: Window, now_ms: int, *, icon: str | None = None, figures: bool = False, width: int | None = None
) -> Line:
    """`{icon} name • profile (provider/model thinking) • n tools • [done/total] • elapsed/timeout`.

    `icon` replaces the usual one, for surfaces with a spinner; `figures` adds tokens and cost; `width` is how many
    cells there are.
    """
    left_out = frozenset(() if figures else ("tokens", "cost"))
    line = _header(window, now_ms, icon, left_out, None)
    if width is None or _cells(line) <= width:
        return line
    # A name may take half of the line before anything else has to go for it.
    name_cells = max(_MIN_NAME_CELLS, width // 2)
    line = _header(window, now_ms, icon, left_out, name_cells)
    for part in _LEAVE_OUT:
        if _cells(line) <= width:
            break
        left_out |= {part}
        line = _header(window, now_ms, icon, left_out, name_cells)
    # What the others leave is the name's, and what they lack is taken from it.
    name_cells = min(name_cells, cell_width(name_of(window))) + width - _cells(line)
    return fit(_header(window, now_ms, icon, left_out, max(1, name_cells)), width)


def name_of(window: Window) -> str:
    """The task's name, fit to be shown."""
    return one_line(window.state.name) or "(unnamed)"


def usage_parts(tokens: int, cost: float) -> list[Line]:
    """`2.1k tokens` and `$0.0021`, each only if there are any."""
    return [*([[_tokens(tokens)]] if tokens else []), *([[_cost(cost)]] if cost else [])]


def _tokens(tokens: int) -> Segment:
    return Style.DIM, f"{short_count(tokens)} tokens"


def _cost(cost: float) -> Segment:
    return Style.DIM, money(cost)


def _cells(line: Line) -> int:
    return cell_width(plain(line))


def header_parts(window: Window, now_ms: int) -> list[tuple[Line, int | None]]:
    """The header for a surface that fits it to its width itself: each part, and how late it goes; None stays.

    The first part ends with the name.
    """
    shown = _parts(window, now_ms, None, _MAX_NAME_CELLS)
    return [(line, _LEAVE_OUT.index(name) if name in _LEAVE_OUT else None) for name, line in shown]


def _header(window: Window, now_ms: int, icon: str | None, left_out: frozenset[str], name_cells: int | None) -> Line:
    parts = _parts(window, now_ms, icon, name_cells, figures=True)
    return [segment for name, line in parts if name not in left_out for segment in line]


def _parts(
    window: Window, now_ms: int, icon: str | None, name_cells: int | None, *, figures: bool = False
) -> Iterator[tuple[str, Line]]:
    """The parts in their order, each with what stands between it and the one before."""
    status, state = window.status, window.state
    name = name_of(window) if name_cells is None else clip(name_of(window), name_cells)
    yield "name", [(ICON_STYLES[status], icon or ICONS[status]), (Style.TEXT, " "), (Style.BOLD, name)]
    if profile := one_line(state.agent):
        yield "profile", [BULLET, (Style.ACCENT, profile)]
    if described := _model(window):
        # It goes before the profile does, so the one before it is there whenever it is.
        yield "model", [(Style.MUTED, f" ({described})")] if profile else [BULLET, (Style.MUTED, f"({described})")]
    yield "tools", [BULLET, (Style.MUTED, counted(state.tool_count, "tool"))]
    if state.todo_completed < state.todo_total:
        yield "todos", [BULLET, (Style.MUTED, f"[{state.todo_completed}/{state.todo_total}]")]
    yield "elapsed", [BULLET, (Style.MUTED, f"{window.elapsed_ms(now_ms) // 1000}s")]
    if state.timeout_s is not None:
        yield "timeout", [(Style.MUTED, f"/{state.timeout_s:.10g}s")]
    if figures and state.usage.total_tokens:
        yield "tokens", [BULLET, _tokens(state.usage.total_tokens)]
    if figures and state.usage.cost:
        yield "cost", [BULLET, _cost(state.usage.cost)]


def _model(window: Window) -> str:
    state = window.state
    name = "/".join(part for part in (one_line(state.provider), one_line(state.model)) if part)
    return " ".join(part for part in (name, one_line(state.thinking_level)) if part)
