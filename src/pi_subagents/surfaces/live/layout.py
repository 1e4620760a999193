"""What the live view shows, as lines: pure, so that every size of terminal can be tested without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pi_subagents.models import Status
from pi_subagents.progress import Line, Style, Window, body_segments, header_segments, status_segments

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_MIN_FINISHED_FOR_ESTIMATE = 3
_HELP = "↑↓ select • ctrl+o expand • x stop • q stop all"
_ASK = "Stop all sub-agents? q again: stop • any other key: go on"


@dataclass(frozen=True)
class Scene:
    """Everything a frame depends on."""

    windows: Sequence[Window]
    """Those that are not in history yet, in the order of their tasks."""
    all_windows: Sequence[Window]
    columns: int
    rows: int
    now_ms: int
    concurrency: int
    total: int
    selected: str | None = None
    expanded: bool = False
    asking: bool = False
    stopping: bool = False


def compose(scene: Scene) -> list[Line]:
    """The frame: what runs, what waits, how all of it stands; never more rows than the terminal has."""
    running = [window for window in scene.windows if window.state.status is not Status.QUEUED]
    # One row stays free: a frame as high as the terminal would push its own top into history.
    room = max(1, scene.rows - 1)
    tail = [_status(scene), _hint(scene)][:room]
    room -= len(tail)
    frame: list[Line] = []
    for window, height in zip(running, heights(scene, running, room), strict=True):
        frame += _window(window, scene, height)
    return [*frame, *tail]


def heights(scene: Scene, windows: Sequence[Window], room: int) -> list[int]:
    """Rows for each window: one for every header as far as they go, the rest shared or for the expanded one."""
    given = [1 if index < room else 0 for index in range(len(windows))]
    left = room - sum(given)
    wanted = [min(len(_body(window, scene)), _limit(window, scene)) for window in windows]
    while left > 0 and any(want > 0 for want in wanted):
        for index in _in_order(windows, scene):
            if left > 0 and wanted[index] > 0:
                given[index] += 1
                wanted[index] -= 1
                left -= 1
    return given


def _in_order(windows: Sequence[Window], scene: Scene) -> list[int]:
    expanded = [i for i, window in enumerate(windows) if _is_expanded(window, scene)]
    return expanded * 8 + list(range(len(windows)))


def finished_lines(window: Window, now_ms: int) -> list[Line]:
    """What stays in history of a run that has ended: its header, and in red what went wrong."""
    lines: list[Line] = [_header(window, now_ms, None)]
    if window.status == "error" and window.state.error:
        lines.append([(Style.ERROR, f"  {window.state.error.splitlines()[0]}")])
    return lines


def _window(window: Window, scene: Scene, height: int) -> list[Line]:
    if height <= 0:
        return []
    body = _body(window, scene)
    shown = body[len(body) - (height - 1) :] if height > 1 else []
    selected = window.state.run_id == scene.selected and len(scene.windows) > 1
    mark: Line = [(Style.ACCENT, "▌")] if selected else [(Style.TEXT, " ")]
    spinner = _SPINNER[scene.now_ms // 100 % len(_SPINNER)]
    return [[*mark, *_header(window, scene.now_ms, spinner)], *([*mark, (Style.TEXT, "  "), *line] for line in shown)]


def _body(window: Window, scene: Scene) -> list[Line]:
    return body_segments(window, _is_expanded(window, scene))


def _limit(window: Window, scene: Scene) -> int:
    return scene.rows if _is_expanded(window, scene) else window.max_lines


def _is_expanded(window: Window, scene: Scene) -> bool:
    return scene.expanded and window.state.run_id == scene.selected


def _header(window: Window, now_ms: int, spinner: str | None) -> Line:
    usage = window.state.usage
    line = header_segments(window, now_ms, icon=spinner if window.status == "running" else None)
    if usage.total_tokens:
        line = [*line, (Style.DIM, f" • {_short_number(usage.total_tokens)} tokens")]
    if usage.cost:
        line = [*line, (Style.DIM, f" • ${usage.cost:.4f}")]
    return line


def _short_number(number: int) -> str:
    return f"{number / 1000:.1f}k" if number >= 1000 else str(number)


def _status(scene: Scene) -> Line:
    started = [window for window in scene.all_windows if window.state.status is not Status.QUEUED]
    line = status_segments(started)
    waiting = scene.total - len(started)
    if waiting > 0:
        line = [*line, (Style.MUTED, f", {waiting} waiting")]
    if estimate := remaining_s(scene):
        line = [*line, (Style.DIM, f" • about {_duration(estimate)} left")]
    return line


def remaining_s(scene: Scene) -> float | None:
    """How long the rest may take, judged by what has finished; None until several have."""
    done = [window for window in scene.all_windows if window.state.status.is_terminal and window.state.started_at]
    left = scene.total - len(done)
    if len(done) < _MIN_FINISHED_FOR_ESTIMATE or left <= 0:
        return None
    average_ms = sum(window.elapsed_ms(scene.now_ms) for window in done) / len(done)
    spent = sum(
        min(window.elapsed_ms(scene.now_ms), average_ms) for window in scene.all_windows if window.status == "running"
    )
    lanes = max(1, min(scene.concurrency, left))
    return max(0.0, (average_ms * left - spent) / lanes / 1000)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f}s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _hint(scene: Scene) -> Line:
    if scene.stopping:
        return [(Style.WARNING, "Stopping…")]
    return [(Style.WARNING, _ASK)] if scene.asking else [(Style.DIM, _HELP)]
