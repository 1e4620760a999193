"""The line above a window: who works, as what, how long, and what it has cost so far.

Where it does not fit, what is missed least goes first; who works and for how long stay to the last.
"""

from __future__ import annotations

from pi_subagents.progress.arguments import counted, one_line
from pi_subagents.progress.cells import cell_width, clip
from pi_subagents.progress.figures import money, short_count
from pi_subagents.progress.segments import Line, Segment, Style, fit, plain
from pi_subagents.progress.windows import Window

ICONS = {"running": "⏳", "completed": "✓", "error": "✗"}
ICON_STYLES = {"running": Style.WARNING, "completed": Style.SUCCESS, "error": Style.ERROR}
BULLET: Segment = (Style.DIM, " • ")
_LEAVE_OUT = ("model", "profile", "tokens", "cost", "tools", "timeout", "todos")
"""In this order, until the line fits."""
_MIN_NAME_CELLS = 12


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
    for part in _LEAVE_OUT:
        left_out |= {part}
        line = _header(window, now_ms, icon, left_out, name_cells)
        if _cells(line) <= width:
            return line
    name_cells = min(name_cells, cell_width(name_of(window))) - (_cells(line) - width)
    return fit(_header(window, now_ms, icon, left_out, max(1, name_cells)), width)


def name_of(window: Window) -> str:
    """The task's name, fit to be shown."""
    return one_line(window.state.name) or "(unnamed)"


def usage_parts(tokens: int, cost: float, left_out: frozenset[str] = frozenset()) -> list[Line]:
    """`2.1k tokens` and `$0.0021`, each only if there are any."""
    parts: list[Line] = []
    if tokens and "tokens" not in left_out:
        parts.append([(Style.DIM, f"{short_count(tokens)} tokens")])
    if cost and "cost" not in left_out:
        parts.append([(Style.DIM, money(cost))])
    return parts


def _cells(line: Line) -> int:
    return cell_width(plain(line))


def _header(window: Window, now_ms: int, icon: str | None, left_out: frozenset[str], name_cells: int | None) -> Line:
    status, state = window.status, window.state
    name = name_of(window) if name_cells is None else clip(name_of(window), name_cells)
    line: Line = [(ICON_STYLES[status], icon or ICONS[status]), (Style.TEXT, " "), (Style.BOLD, name)]
    parts: list[Line] = [
        _agent(window, left_out),
        [] if "tools" in left_out else [(Style.MUTED, counted(state.tool_count, "tool"))],
        [] if "todos" in left_out else _todos(window),
        [(Style.MUTED, _times(window, now_ms, left_out))],
        *usage_parts(state.usage.total_tokens, state.usage.cost, left_out),
    ]
    for part in parts:
        line += [BULLET, *part] if part else []
    return line


def _agent(window: Window, left_out: frozenset[str]) -> Line:
    state = window.state
    profile = None if "profile" in left_out else one_line(state.profile)
    line: Line = [(Style.ACCENT, profile)] if profile else []
    described = "" if "model" in left_out else _model(window)
    if described:
        line.append((Style.MUTED, f" ({described})" if profile else f"({described})"))
    return line


def _model(window: Window) -> str:
    state = window.state
    name = "/".join(part for part in (one_line(state.provider), one_line(state.model)) if part)
    return " ".join(part for part in (name, one_line(state.thinking_level)) if part)


def _todos(window: Window) -> Line:
    total, done = window.state.todo_total, window.state.todo_completed
    return [(Style.MUTED, f"[{done}/{total}]")] if done < total else []


def _times(window: Window, now_ms: int, left_out: frozenset[str]) -> str:
    elapsed, timeout_s = window.elapsed_ms(now_ms) // 1000, window.state.timeout_s
    return f"{elapsed}s" if timeout_s is None or "timeout" in left_out else f"{elapsed}s/{timeout_s:.10g}s"
