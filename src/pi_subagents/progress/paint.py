"""Windows as styled lines: header, body, footer and the status of all; each surface only adds its colours."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.progress.arguments import counted, one_line
from pi_subagents.progress.cells import clean
from pi_subagents.progress.segments import Line, Segment, Style, plain, style_tool_line
from pi_subagents.progress.windows import Window

ICONS = {"running": "⏳", "completed": "✓", "error": "✗"}
_ICON_STYLES = {"running": Style.WARNING, "completed": Style.SUCCESS, "error": Style.ERROR}
_STATUS_WORDS = {"running": "running", "completed": "done", "error": "error"}
_BULLET: Segment = (Style.DIM, " • ")


def header_segments(window: Window, now_ms: int, *, icon: str | None = None) -> Line:
    """`{icon} name • profile (provider/model thinking) • n tools • [done/total] • elapsed/timeout`.

    `icon` replaces the usual one, for surfaces with a spinner.
    """
    status, state = window.status, window.state
    line: Line = [(_ICON_STYLES[status], icon or ICONS[status]), (Style.TEXT, " ")]
    line.append((Style.BOLD, one_line(state.name) or "(unnamed)"))
    parts: list[Line] = [
        _agent(window),
        [(Style.MUTED, counted(state.tool_count, "tool"))],
        _todos(window),
        [(Style.MUTED, _times(window, now_ms))],
    ]
    for part in parts:
        line += [_BULLET, *part] if part else []
    return line


def body_segments(window: Window, expanded: bool = False) -> list[Line]:
    """The window's lines with what is going on now, then in red what went wrong.

    Collapsed, lines and live area together take at most `max_lines`.
    """
    lines = [
        style_tool_line(line.text) if line.kind == "tool" else [(Style.TEXT, line.text)]
        for line in (window.all_messages if expanded else window.lines)
    ]
    lines += [[segment] for segment in window.live_lines]
    if not expanded:
        lines = lines[-max(window.max_lines, 1) :]
    if not lines:
        starting = window.status == "running" and not expanded
        lines = [[(Style.DIM, "(starting...)" if starting else "(no output)")]]
    return lines + _error_lines(window)


def status_segments(windows: Sequence[Window]) -> Line:
    """`Sub-agents: 2 running, 1 done, 1 error`; states that no window is in are left out."""
    line: Line = []
    for status, word in _STATUS_WORDS.items():
        count = sum(window.status == status for window in windows)
        if count:
            line += [(Style.MUTED, ", ")] if line else []
            line.append((_ICON_STYLES[status], f"{count} {word}"))
    return [(Style.TITLE, "Sub-agents: "), *(line or [(Style.MUTED, "none")])]


def status_line(windows: Sequence[Window]) -> str:
    """The status of all windows in plain words."""
    return plain(status_segments(windows))


def footer_segments(windows: Sequence[Window]) -> Line:
    """The session ids, once every run has ended; before that, nothing."""
    if not windows or any(window.status == "running" for window in windows):
        return []
    line: Line = [(Style.DIM, "Sessions: ")]
    for index, window in enumerate(windows):
        line += [_BULLET] if index else []
        line.append((Style.MUTED, f"{one_line(window.state.name) or '(unnamed)'} "))
        line.append((Style.ACCENT, window.state.session_id))
    return line


def _agent(window: Window) -> Line:
    state = window.state
    profile, provider, model = one_line(state.profile), one_line(state.provider), one_line(state.model)
    name = "/".join(part for part in (provider, model) if part)
    described = " ".join(part for part in (name, one_line(state.thinking_level)) if part)
    line: Line = [(Style.ACCENT, profile)] if profile else []
    if described:
        line.append((Style.MUTED, f" ({described})" if profile else f"({described})"))
    return line


def _todos(window: Window) -> Line:
    total, done = window.state.todo_total, window.state.todo_completed
    return [(Style.MUTED, f"[{done}/{total}]")] if done < total else []


def _times(window: Window, now_ms: int) -> str:
    elapsed, timeout_s = window.elapsed_ms(now_ms) // 1000, window.state.timeout_s
    return f"{elapsed}s" if timeout_s is None else f"{elapsed}s/{timeout_s:.10g}s"


def _error_lines(window: Window) -> list[Line]:
    if window.status != "error" or not window.state.error:
        return []
    text = clean(window.state.error, keep_newlines=True)
    return [[(Style.ERROR, line.rstrip())] for line in text.split("\n") if line.strip()]
