"""The last lines of the view: how all tasks stand, how long the rest may take, and which keys there are."""

from __future__ import annotations

from collections.abc import Sequence

from pi_subagents.progress import BULLET, Window, name_of, status_segments, usage_parts
from pi_subagents.surfaces.live.scene import Scene
from pi_subagents.text import Line, Style, cell_width, clip, duration, plain

_MIN_FINISHED_FOR_ESTIMATE = 3
_BAR_CELLS = 10
# In full, and for narrow terminals.
_HELP = ("↑↓ select • ctrl+o expand • x stop • q stop all", "↑↓ • ^o expand • x stop • q all")
_HELP_FOR_ONE = ("ctrl+o expand • x stop",)
_HELP_WITH_DETACH = (
    "↑↓ select • ctrl+o expand • x stop • d detach • q stop all",
    "↑↓ • ^o expand • x stop • d detach • q all",
    "^o more • x stop • d detach • q all",
)
_HELP_FOR_ONE_WITH_DETACH = ("ctrl+o expand • x stop • d detach",)
_HELP_WITHOUT_KEYS = ("ctrl+c stops all",)
_HELP_TO_LEAVE = ("ctrl+o expand • x stop • q leave it running", "^o expand • x stop • q leave it")
_HELP_TO_LEAVE_WITHOUT_KEYS = ("ctrl+c leaves it running",)
_ASK = ("{} y yes • any other key no", "{} y yes • other keys no")
_MIN_NAME_CELLS = 8
_STOPPING = ("Stopping…",)


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
    variants = _STOPPING if scene.is_stopping else _question(scene, width) or _help(scene)
    style = Style.WARNING if scene.is_stopping or scene.question else Style.DIM
    return [(style, next((words for words in variants if cell_width(words) <= width), variants[-1]))]


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
    variants = _keys(scene)
    if not scene.expanded:
        return variants
    return tuple(words.replace("o expand", "o collapse").replace("o more", "o less") for words in variants)


def _keys(scene: Scene) -> tuple[str, ...]:
    if scene.can_leave:
        return _HELP_TO_LEAVE if scene.has_keys else _HELP_TO_LEAVE_WITHOUT_KEYS
    if not scene.has_keys:
        return _HELP_WITHOUT_KEYS
    if scene.can_detach:
        return _HELP_WITH_DETACH if scene.total > 1 else _HELP_FOR_ONE_WITH_DETACH
    return _HELP if scene.total > 1 else _HELP_FOR_ONE


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
    words: Line = [(Style.MUTED, f"{waiting} waiting")]
    return (
        [*status_segments(started), (Style.MUTED, ", "), *words] if started else [(Style.TITLE, "Sub-agents: "), *words]
    )


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
    tokens = sum(window.state.usage.total_tokens for window in windows)
    return usage_parts(tokens, sum(window.state.usage.cost for window in windows))
