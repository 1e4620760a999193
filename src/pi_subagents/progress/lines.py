"""Windows as styled lines: header, body, footer and the status of all; each surface only adds its colours.

People are told of an end in the words of the record, `completed`, `failed` and `aborted`, on every surface whose words
are our own; the tools and the line above their windows in pi have those of their reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pi_subagents.fold import RunState
from pi_subagents.models import Reason, Status
from pi_subagents.progress.arguments import text_of
from pi_subagents.progress.history import WindowLine
from pi_subagents.progress.windows import Window
from pi_subagents.text import cell_width, clean, clip, cost_words, counted, duration, short_count, wrap
from pi_subagents.text.segments import Line, Segment, Style, fit, plain, style_tool_line

WITHOUT_ANSWER = "without an answer"
"""What people are told of an agent that finished and said nothing."""
_ICONS = {Status.QUEUED: "·", Status.RUNNING: "⏳", Status.COMPLETED: "✓", Status.FAILED: "✗", Status.ABORTED: "✗"}

FATES = (Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.ABORTED)
"""In the order in which they are counted; an end that only another version knows follows by its own name."""
ICONS = {"running": "⏳", "completed": "✓", "error": "✗"}
ICON_STYLES = {"running": Style.WARNING, "completed": Style.SUCCESS, "error": Style.ERROR}
BULLET: Segment = (Style.DIM, " • ")
_LEAVE_OUT = ("model", "profile", "tokens", "cost", "tools", "timeout", "todos", "beginning", "agent")
"""In this order, until the line fits."""
_FIGURES = ("tokens", "context", "cost")
_MIN_NAME_CELLS = 12
_MAX_NAME_CELLS = 400
"""No terminal is wider, and a name may be."""
_LONG_S = 3
"""A tool that runs for longer is worth a clock; most are done before anybody looks."""
_HEADER_WORDS = {"running": "running", "completed": "done", "error": "error"}


def fate(status: Status) -> Status:
    """What is counted and chosen by: `running` until a run is over, also while it waits, then how it ended."""
    return status if status.is_terminal else Status.RUNNING


def status_icon(status: Status) -> str:
    """`✓`, `✗` …; `?` for a state that only another version knows."""
    return _ICONS.get(status, "?")


def standing(state: RunState) -> str:
    """`completed`, `completed without an answer`, `completed, damaged`."""
    answer = f" {WITHOUT_ANSWER}" if state.reason is Reason.NO_ANSWER else ""
    return f"{state.status}{answer}{', damaged' if state.is_damaged else ''}"


def unusual_standing(state: RunState) -> str:
    """What an icon cannot say: nothing, `damaged`, `without an answer`, or the word of another version."""
    if state.status not in _ICONS:
        return standing(state)
    if state.is_damaged:
        return "damaged"
    return WITHOUT_ANSWER if state.reason is Reason.NO_ANSWER else ""


def header_segments(
    window: Window, now_ms: int, *, icon: str | None = None, figures: bool = False, width: int | None = None
) -> Line:
    """`{icon} name • profile (provider/model thinking) • n tools • [done/total] • elapsed/timeout`.

    An agent other than `pi` stands before its model: `• claude (opus-4.8 high) •`. A resumed session says before its
    tools how: `• resumed •` or `• retold •`. `icon` replaces the usual one, for
    surfaces with a spinner; `figures` adds tokens, context and cost; `width` is how many cells there are.
    """
    left_out = frozenset(() if figures else _FIGURES)
    line = _header(window, now_ms, icon, left_out, None)
    if width is None or _cells(line) <= width:
        return line
    # A name may take half of the line before anything else has to go for it.
    name_cells = max(_MIN_NAME_CELLS, width // 2)
    line = _header(window, now_ms, icon, left_out, name_cells)
    for part in ("context", *_LEAVE_OUT):
        if _cells(line) <= width:
            break
        left_out |= {part}
        line = _header(window, now_ms, icon, left_out, name_cells)
    # What the others leave is the name's, and what they lack is taken from it.
    name_cells = min(name_cells, cell_width(name_of(window))) + width - _cells(line)
    return fit(_header(window, now_ms, icon, left_out, max(1, name_cells)), width)


def name_of(window: Window) -> str:
    """The task's name, fit to be shown."""
    return text_of(window.state.name) or "(unnamed)"


def usage_parts(states: Sequence[RunState]) -> list[Line]:
    """`2.1k tokens` and `$0.0021` of these runs together, each only if there are any."""
    tokens = sum(state.usage.total_tokens for state in states)
    costs = [state.usage.cost for state in states]
    figures = _tokens(tokens), _cost(tokens, sum(costs), is_all=all(map(_tells_cost, states)))
    return [[(Style.DIM, figure)] for figure in figures if figure]


def cost_figure(state: RunState) -> str:
    """`$0.0021` or `cost unknown` of one run, if there is any."""
    return _cost(state.usage.total_tokens, state.usage.cost, is_all=_tells_cost(state))


def _tells_cost(state: RunState) -> bool:
    """Whether the cost is known, or may still be reported: some agents report it at the end."""
    return state.knows_cost or (state.has_cost and not state.status.is_terminal)


def _tokens(tokens: int) -> str:
    return f"{short_count(tokens)} tokens" if tokens else ""


def _cost(tokens: int, cost: float, *, is_all: bool) -> str:
    """Nothing was spent as long as nothing was used."""
    return cost_words(cost, is_all=is_all) if cost or (tokens and not is_all) else ""


def _context(state: RunState) -> str:
    """`context 12k/200k`: how full the agent's context is, if it says so."""
    if not state.context_used:
        return ""
    size = f"/{short_count(state.context_size)}" if state.context_size else ""
    return f"context {short_count(state.context_used)}{size}"


def _cells(line: Line) -> int:
    return cell_width(plain(line))


def header_parts(window: Window, now_ms: int) -> list[tuple[Line, int | None]]:
    """The header for a surface that fits it to its width itself: each part, and how late it goes; None stays.

    The first part ends with the name. For `pi` the parts are those of the reference of the tools.
    """
    parts = _parts(window, now_ms, None, _MAX_NAME_CELLS)
    hidden = _FIGURES if window.state.other_agent else (*_FIGURES, "beginning")
    shown = [(name, line) for name, line in parts if name not in hidden]
    return [(line, _LEAVE_OUT.index(name) if name in _LEAVE_OUT else None) for name, line in shown]


def _header(window: Window, now_ms: int, icon: str | None, left_out: frozenset[str], name_cells: int | None) -> Line:
    parts = _parts(window, now_ms, icon, name_cells)
    return [segment for name, line in parts if name not in left_out for segment in line]


def _parts(window: Window, now_ms: int, icon: str | None, name_cells: int | None) -> Iterator[tuple[str, Line]]:
    """The parts in their order, each with what stands between it and the one before."""
    status, state = window.status, window.state
    name = name_of(window) if name_cells is None else clip(name_of(window), name_cells)
    yield "name", [(ICON_STYLES[status], icon or ICONS[status]), (Style.TEXT, " "), (Style.BOLD, name)]
    profile, agent = text_of(state.asked_as), text_of(state.other_agent)
    if profile and profile != agent:
        yield "profile", [BULLET, (Style.ACCENT, profile)]
    if agent and agent != name_of(window):
        yield "agent", [BULLET, (Style.ACCENT, agent)]
    if described := _model(window):
        # It goes before these two do, so the one before it is there whenever it is.
        is_whose = profile or agent
        yield "model", [(Style.MUTED, f" ({described})")] if is_whose else [BULLET, (Style.MUTED, f"({described})")]
    if state.beginning != "fresh":
        yield "beginning", [BULLET, (Style.MUTED, state.beginning)]
    yield "tools", [BULLET, (Style.MUTED, counted(state.tool_count, "tool"))]
    if state.todo_completed < state.todo_total:
        yield "todos", [BULLET, (Style.MUTED, f"[{state.todo_completed}/{state.todo_total}]")]
    yield "elapsed", [BULLET, (Style.MUTED, f"{window.elapsed_ms(now_ms) // 1000}s")]
    if state.timeout_s is not None:
        yield "timeout", [(Style.MUTED, f"/{state.timeout_s:.10g}s")]
    figures = (
        ("tokens", _tokens(state.usage.total_tokens)),
        ("context", _context(state)),
        ("cost", cost_figure(state)),
    )
    for name, figure in figures:
        if figure:
            yield name, [BULLET, (Style.DIM, figure)]


def _model(window: Window) -> str:
    state = window.state
    name = "/".join(part for part in (text_of(state.provider), text_of(state.model)) if part)
    return " ".join(part for part in (name, text_of(state.thinking_level)) if part)


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


def excerpt_segments(text: str, max_lines: int) -> list[Line]:
    """The first `max_lines` lines of a result and, if there are more, how many: `... (47 more lines)`."""
    most = max(max_lines, 0)
    lines = clean(text, keep_newlines=True).split("\n", most)
    shown: list[Line] = [[(Style.TEXT, line)] for line in lines[:most]]
    if rest := lines[most:]:
        shown.append([(Style.MUTED, f"... ({counted(rest[0].count(chr(10)) + 1, 'more line')})")])
    return shown
