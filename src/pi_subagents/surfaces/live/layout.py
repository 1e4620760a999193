"""What the live view shows, as lines: pure, so that every size of terminal can be tested without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pi_subagents.models import Status
from pi_subagents.progress import BULLET, Window, body_rows, header_segments, name_of, status_segments, usage_parts
from pi_subagents.surfaces.live.keys import Entry, Stop
from pi_subagents.text import Line, Segment, Style, cell_width, clean, clip, duration, plain

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
SPINNER_STEP_MS = 100
_INDENT = 3
"""The mark of the selected window and two spaces."""
_UNMARKED: Segment = (Style.TEXT, " ")
_HINT_FROM_ROWS = 5
"""In a lower terminal every row is needed for the windows."""
_LOW_ROWS = 12
_MAX_ERROR_CELLS = 500
_MIN_FINISHED_FOR_ESTIMATE = 3
_BAR_CELLS = 10
# In full, and for narrow terminals.
_HELP = (
    "↑↓ select • ctrl+o expand • s steer • x stop • q stop all",
    "↑↓ • ^o expand • s steer • x stop • q all",
    "↑↓ • ^o expand • x stop • q all",
)
_HELP_FOR_ONE = ("ctrl+o expand • s steer • x stop", "ctrl+o expand • x stop")
_HELP_WITH_DETACH = (
    "↑↓ select • ctrl+o expand • s steer • x stop • d detach • q stop all",
    "↑↓ • ^o expand • s steer • x stop • d detach • q all",
    "^o more • s steer • x stop • d detach • q all",
    "^o more • x stop • d detach • q all",
)
_HELP_FOR_ONE_WITH_DETACH = ("ctrl+o expand • s steer • x stop • d detach", "ctrl+o expand • x stop • d detach")
_HELP_TO_LEAVE = (
    "ctrl+o expand • s steer • x stop • q leave it running",
    "^o expand • s steer • x stop • q leave it",
    "^o expand • x stop • q leave it",
)
_ASK = ("{} y yes • any other key no", "{} y yes • other keys no")
_SEND = ("enter sends • esc cancels", "enter • esc")
_CURSOR = "▏"
_MIN_NAME_CELLS = 8


@dataclass(frozen=True, kw_only=True)
class Scene:
    """How all runs stand at one moment, what is selected, and how large the terminal is."""

    windows: Sequence[Window]
    """Of every run that something is known of, in the order of their tasks."""
    columns: int
    rows: int
    now_ms: int
    concurrency: int
    total: int
    selected: str | None = None
    expanded: bool = False
    question: Stop | None = None
    """What somebody is asked about: whether it is to be stopped."""
    entry: Entry | None = None
    """What somebody is typing for an agent."""
    has_keys: bool = True
    can_leave: bool = False
    """Whether the runs go on when nobody looks any more."""
    can_detach: bool = False
    """Whether they can be made to."""

    @property
    def running(self) -> list[Window]:
        return [window for window in self.windows if window.state.status is Status.RUNNING]

    @property
    def started(self) -> list[Window]:
        return [window for window in self.windows if window.state.status is not Status.QUEUED]

    @property
    def finished(self) -> list[Window]:
        return [window for window in self.windows if window.state.status.is_terminal]

    @property
    def is_stopping(self) -> bool:
        """Whether everything that still runs has been asked to end."""
        running = self.running
        return bool(running) and all(window.state.stop is not None for window in running)

    def is_expanded(self, window: Window) -> bool:
        return self.expanded and window.state.run_id == self.selected


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
    return [hint if scene.question or scene.entry else summary]


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


def summary_line(scene: Scene, width: int) -> Line:
    """`Sub-agents: 4 running, 3 completed, 9 waiting • about 2 min left • ━━━─────── 3/16 • 17k tokens • $0.0177`.

    What does not fit is left out: the title before how far it is, the totals first.
    """
    line, progress = _counts(scene), _progress(scene)
    wanted = [segment for part in progress for segment in (BULLET, *part)]
    if cell_width(plain([*line, *wanted])) > width:
        line = line[1:]  # without its title
    for part in [*progress, *_totals(scene.windows)]:
        longer = [*line, BULLET, *part]
        line = longer if cell_width(plain(longer)) <= width else line
    return line


def closing_lines(scene: Scene) -> list[Line]:
    """What is left of it in history: how many ended how, the time from first to last, and the totals."""
    finished = [window for window in scene.finished if window.state.started_at is not None]
    if not finished:
        return []
    began = min(window.state.started_at or 0 for window in finished)
    ended = max(window.state.completed_at or 0 for window in finished)
    line = status_segments(scene.started)
    for part in [[(Style.DIM, duration((ended - began) / 1000))], *_totals(scene.windows)]:
        line = [*line, BULLET, *part]
    return [line]


def hint_line(scene: Scene, width: int) -> Line:
    """What can be done now."""
    if scene.entry is not None:
        return _entry_line(scene, scene.entry, width)
    variants = ("Stopping…",) if scene.is_stopping else _question(scene, width) or _help(scene)
    style = Style.WARNING if scene.is_stopping or scene.question else Style.DIM
    return [(style, next((words for words in variants if cell_width(words) <= width), variants[-1]))]


def _entry_line(scene: Scene, entry: Entry, width: int) -> Line:
    """`Tell gamma: Leave the tests out▏  enter sends • esc cancels`; of a long text, its end."""
    told = next(name_of(window) for window in scene.windows if window.state.run_id == entry.run_id)
    label = f"Tell {clip(told, max(width // 3, _MIN_NAME_CELLS))}: "
    hint = next((words for words in _SEND if cell_width(label + words) + 2 <= width // 2), _SEND[-1])
    room = max(width - cell_width(f"{label}{_CURSOR}  {hint}"), 1)
    text = clean(entry.text)[-width:]
    while cell_width(text) > room:
        text = text[1:]
    return [(Style.WARNING, label), (Style.TEXT, f"{text}{_CURSOR}"), (Style.DIM, f"  {hint}")]


def _question(scene: Scene, width: int) -> tuple[str, ...]:
    """`Stop 3: gamma? y yes • any other key no`: an answer is meant for the run that it names."""
    if scene.question is None:
        return ()
    asked = [window for window in scene.running if window.state.run_id == scene.question.run_id]
    whole, short = ("Stop all sub-agents?", "Stop all?")
    if asked:
        room = width - cell_width(_ASK[-1].format("Stop ?"))
        whole = short = f"Stop {clip(name_of(asked[0]), max(room, _MIN_NAME_CELLS))}?"
    return _ASK[0].format(whole), _ASK[-1].format(short)


def _help(scene: Scene) -> tuple[str, ...]:
    if not scene.has_keys:
        return ("ctrl+c leaves it running" if scene.can_leave else "ctrl+c stops all",)
    variants: tuple[str, ...]
    if scene.can_leave:
        variants = _HELP_TO_LEAVE
    elif scene.can_detach:
        variants = _HELP_WITH_DETACH if scene.total > 1 else _HELP_FOR_ONE_WITH_DETACH
    else:
        variants = _HELP if scene.total > 1 else _HELP_FOR_ONE
    if not scene.expanded:
        return variants
    return tuple(words.replace("o expand", "o collapse").replace("o more", "o less") for words in variants)


def remaining_s(scene: Scene) -> float | None:
    """How long the rest may take, judged by the tasks that were completed; None until several were."""
    done = [window for window in scene.finished if window.status == "completed"]
    left = scene.total - len(scene.finished)
    if len(done) < _MIN_FINISHED_FOR_ESTIMATE or left <= 0:
        return None
    average_ms = sum(window.elapsed_ms(scene.now_ms) for window in done) / len(done)
    spent = sum(min(window.elapsed_ms(scene.now_ms), average_ms) for window in scene.running)
    lanes = max(1, min(scene.concurrency, left))
    return max(0.0, (average_ms * left - spent) / lanes / 1000)


def about(seconds: float) -> str:
    """An estimate in words that do not claim more than it can know."""
    if seconds < 10:
        return "a few seconds left"
    if seconds < 90:
        return f"about {round(seconds / 5) * 5} s left"
    return f"about {round(seconds / 60)} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"


def _counts(scene: Scene) -> Line:
    started, waiting = scene.started, scene.total - len(scene.started)
    if waiting <= 0:
        return status_segments(started)
    before: Line = [*status_segments(started), (Style.MUTED, ", ")] if started else [(Style.TITLE, "Sub-agents: ")]
    return [*before, (Style.MUTED, f"{waiting} waiting")]


def _progress(scene: Scene) -> list[Line]:
    parts: list[Line] = []
    if not scene.is_stopping and (seconds := remaining_s(scene)) is not None:
        parts.append([(Style.MUTED, about(seconds))])
    if scene.total > 1:
        done = len(scene.finished)
        cells = _BAR_CELLS * done // scene.total
        bar: Line = [(Style.SUCCESS, "━" * cells), (Style.DIM, "─" * (_BAR_CELLS - cells))]
        parts.append([*bar, (Style.MUTED, f" {done}/{scene.total}")])
    return parts


def _totals(windows: Sequence[Window]) -> list[Line]:
    if len(windows) < 2:
        return []  # its own line says it
    return usage_parts([window.state for window in windows])
