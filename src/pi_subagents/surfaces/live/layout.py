"""What the live view shows, as lines: pure, so that every size of terminal can be tested without one."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.progress import Window, body_rows, header_segments
from pi_subagents.surfaces.live.scene import Scene
from pi_subagents.surfaces.live.summary import hint_line, summary_line
from pi_subagents.text import Line, Segment, Style, cell_width, clean, clip, plain

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_STEP_MS = 100
_INDENT = 3
"""The mark of the selected window and two spaces."""
_UNMARKED: Segment = (Style.TEXT, " ")
_HINT_FROM_ROWS = 5
"""In a lower terminal every row is needed for the windows."""
_LOW_ROWS = 12
_MAX_ERROR_CELLS = 500


def compose(scene: Scene) -> list[Line]:
    """The frame: what runs, then how all of it stands; always lower than the terminal.

    So low, unless a window is expanded, that it would still fit after the terminal has lost a quarter of its width.
    """
    room = _room(scene)
    frame = _frame(scene, room)
    excess = _rows_if_narrower(frame, scene.columns) - (scene.rows - 1)
    if excess <= 0 or scene.expanded or scene.rows <= _LOW_ROWS:
        return frame
    return _frame(scene, max(room - excess, _LOW_ROWS - 1))


def _frame(scene: Scene, room: int) -> list[Line]:
    tail = _tail(scene, room)
    shown, hidden = _fitting(scene, room - len(tail))
    if hidden:
        tail = [[(Style.DIM, f" … and {hidden} more running")], *tail]
    frame: list[Line] = []
    for window, height in zip(shown, heights(scene, shown, room - len(tail)), strict=True):
        frame += _window(window, scene, height)
    return [*frame, *tail]


def _rows_if_narrower(frame: Sequence[Line], columns: int) -> int:
    narrower = max(1, columns * 3 // 4)
    return sum(max(1, -(-cell_width(plain(line)) // narrower)) for line in frame)


def finished_lines(window: Window, now_ms: int, columns: int) -> list[Line]:
    """What stays in history of a run that has ended: its header where it stood, and in red what went wrong."""
    lines: list[Line] = [[_UNMARKED, *header_segments(window, now_ms, figures=True, width=columns - 2)]]
    error = clean(window.state.error or "", keep_newlines=True).strip()
    if window.status == "error" and error:
        lines.append([(Style.ERROR, f"{' ' * _INDENT}{clip(error.splitlines()[0], _MAX_ERROR_CELLS)}")])
    return lines


def heights(scene: Scene, windows: Sequence[Window], room: int) -> list[int]:
    """Rows for each window: a header for every one, the rest shared by need, or for the expanded one."""
    given = [1] * len(windows)
    expanded = [index for index, window in enumerate(windows) if scene.is_expanded(window)]
    candidates = expanded or list(range(len(windows)))
    left = room - len(windows)
    wanted = {index: len(_body(windows[index], scene, left)) for index in candidates}
    while left > 0 and any(wanted.values()):
        for index in candidates:
            if left > 0 and wanted[index] > 0:
                given[index] += 1
                wanted[index] -= 1
                left -= 1
    return given


def _room(scene: Scene) -> int:
    """The cursor waits in a row of its own; above the frame a few lines of history stay in sight."""
    spare = 1 if scene.expanded else max(1, scene.rows // 6)
    return max(1, scene.rows - spare)


def _tail(scene: Scene, room: int) -> list[Line]:
    summary, hint = summary_line(scene, scene.columns - 1), hint_line(scene, scene.columns - 1)
    if room >= _HINT_FROM_ROWS:
        return [summary, hint]
    return [hint if scene.question else summary]


def _fitting(scene: Scene, room: int) -> tuple[list[Window], int]:
    """The windows that have room for a header, among them the selected one, and how many have none."""
    running = scene.running
    if len(running) <= room:
        return running, 0
    count = max(room - 1, 0)
    at = next((index for index, window in enumerate(running) if window.state.run_id == scene.selected), 0)
    first = max(0, at - count + 1)
    return running[first : first + count], (len(running) - count if room > 0 else 0)


def _window(window: Window, scene: Scene, height: int) -> list[Line]:
    selected = scene.has_keys and window.state.run_id == scene.selected and len(scene.running) > 1
    mark: Line = [(Style.ACCENT, "▌") if selected else _UNMARKED]
    spinner = SPINNER[scene.now_ms // SPINNER_STEP_MS % len(SPINNER)]
    header = header_segments(window, scene.now_ms, icon=spinner, figures=True, width=scene.columns - 2)
    return [[*mark, *header], *([*mark, (Style.TEXT, "  "), *row] for row in _body(window, scene, height - 1))]


def _body(window: Window, scene: Scene, most: int) -> list[Line]:
    width = scene.columns - 1 - _INDENT
    return body_rows(window, width, most, scene.now_ms, expanded=scene.is_expanded(window))
