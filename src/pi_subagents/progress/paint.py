"""Windows as styled lines: body, footer and the status of all; each surface only adds its colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pi_subagents.progress.headers import BULLET, ICON_STYLES, name_of
from pi_subagents.progress.standing import FATES, fate
from pi_subagents.progress.windows import Window, WindowLine
from pi_subagents.text.cells import cell_width
from pi_subagents.text.figures import duration
from pi_subagents.text.harmless import clean
from pi_subagents.text.segments import Line, Segment, Style, fit, plain, style_tool_line
from pi_subagents.text.wrapping import wrap

_LONG_S = 3
"""A tool that runs for longer is worth a clock; most are done before anybody looks."""
_HEADER_WORDS = {"running": "running", "completed": "done", "error": "error"}


def body_segments(window: Window, expanded: bool = False) -> list[Line]:
    """The window's lines with what is going on now, then in red what went wrong.

    Collapsed, lines and live area together take at most `max_lines`.
    """
    lines = [_styled(line) for line in (window.all_messages if expanded else window.lines)]
    lines += [[segment] for segment in window.live_lines]
    if not expanded:
        lines = lines[-max(window.max_lines, 1) :]
    return (lines or [_nothing_yet(window, expanded)]) + error_segments(window)


def body_rows(window: Window, width: int, most: int, now_ms: int, *, expanded: bool = False) -> list[Line]:
    """The last rows of the body on a screen: text goes on in the next row, a tool's line is cut.

    A tool that has been running for a while says for how long; expanded, it says what it returned.
    """
    most = most if expanded else min(most, max(window.max_lines, 1))
    rows: list[Line] = []
    for more in _rows_from_the_end(window, width, now_ms, expanded):
        if len(rows) >= most:
            break
        rows += reversed(more)
    return rows[:most][::-1]


def _rows_from_the_end(window: Window, width: int, now_ms: int, expanded: bool) -> Iterator[list[Line]]:
    live, lines = window.live_lines, window.all_messages if expanded else window.lines
    for ending in (*reversed(error_segments(window)), *([segment] for segment in reversed(live))):
        yield _rows(ending, width)
    clocks = tool_clocks(window, now_ms)
    for line in reversed(lines):
        if expanded:
            yield [fit([(Style.TEXT, "  "), (Style.DIM, text)], width) for text in line.output]
        clock = clocks.get(id(line))
        yield _rows(_styled(line), width) if clock is None else [_with_clock(line, clock, width)]
    if not live and not lines:
        yield [_nothing_yet(window, expanded)]


def _styled(line: WindowLine) -> Line:
    return style_tool_line(line.text) if line.kind == "tool" else [(Style.TEXT, line.text)]


def tool_clocks(window: Window, now_ms: int) -> dict[int, Segment]:
    """How long the tools that run now have been running, by the identity of the last line of their call."""
    running = {line: (now_ms - since_ms) // 1000 for line, since_ms in window.running_since().items()}
    return {line: _clock(for_s) for line, for_s in running.items() if for_s >= _LONG_S}


def _clock(seconds: int) -> Segment:
    return Style.WARNING, f" ({seconds}s)" if seconds < 60 else f" ({duration(seconds)})"


def _with_clock(line: WindowLine, clock: Segment, width: int) -> Line:
    """`→ bash → npm test (12s)`: the line is cut, its clock is not."""
    return [*fit(_styled(line), width - cell_width(clock[1])), clock]


def _rows(line: Line, width: int) -> list[Line]:
    (style, text), *more = line
    if more or style is Style.MUTED:
        return [fit(line, width)]
    return [[(style, row)] for row in wrap(text, width)]


def _nothing_yet(window: Window, expanded: bool) -> Line:
    return [(Style.DIM, nothing_words(window, expanded))]


def nothing_words(window: Window, expanded: bool) -> str:
    """What stands where lines would, if there were any."""
    return "(starting...)" if window.status == "running" and not expanded else "(no output)"


def tool_status_segments(windows: Sequence[Window]) -> Line:
    """`Sub-agents: 2 running, 1 done, 2 errors`: above the windows of a tool, in the words of its reference."""
    counts: Counter[str] = Counter(window.status for window in windows)
    words = {status: word + "s" * (word == "error" and counts[status] > 1) for status, word in _HEADER_WORDS.items()}
    return _counted([(ICON_STYLES[status], counts[status], words[status]) for status in words if counts[status]])


def status_segments(windows: Sequence[Window]) -> Line:
    """`Sub-agents: 2 running, 1 completed, 2 failed`; states that no window is in are left out."""
    styles = {fate(window.state.status): ICON_STYLES[window.status] for window in windows}
    counts = Counter(fate(window.state.status) for window in windows)
    words = dict.fromkeys((*FATES, *sorted(counts)))
    return _counted([(styles[word], counts[word], word) for word in words if counts[word]])


def _counted(parts: Sequence[tuple[Style, int, str]]) -> Line:
    line: Line = []
    for style, count, word in parts:
        line += [(Style.MUTED, ", ")] if line else []
        line.append((style, f"{count} {word}"))
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
        line += [BULLET] if index else []
        line.append((Style.MUTED, f"{name_of(window)} "))
        line.append((Style.ACCENT, window.state.session_id))
    return line


def error_segments(window: Window) -> list[Line]:
    """What went wrong, below everything else."""
    if window.status != "error" or not window.state.error:
        return []
    text = clean(window.state.error, keep_newlines=True)
    return [[(Style.ERROR, line.rstrip())] for line in text.split("\n") if line.strip()]
