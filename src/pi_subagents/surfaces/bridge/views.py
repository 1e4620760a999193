"""What results look like, as styled lines: the extension only adds colours and cuts where the terminal ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.progress import (
    Window,
    WindowLine,
    error_segments,
    excerpt_segments,
    footer_segments,
    header_parts,
    nothing_words,
    tool_clocks,
    tool_status_segments,
)
from pi_subagents.text import Line, Style, clean, duration, style_tool_line
from pi_subagents.tools import ToolResult

Members = dict[str, Any]
Pieces = list[list[str]]

_ICONS = {
    "running": (Style.WARNING, "⏳"),
    "completed": (Style.SUCCESS, "✓"),
    "failed": (Style.ERROR, "✗"),
    "aborted": (Style.ERROR, "✗"),
}
_OTHER_ICON = (Style.DIM, "•")
_EXCERPT_LINES = 15


def pieces(line: Line) -> Pieces:
    """A line as it goes over the wire."""
    return [[style.value, clean(text)] for style, text in line]


# --- delegate_to_subagents -----------------------------------------------------------------------------------


def window_members(window: Window, at_ms: int) -> Members:
    """Everything of a window but its lines."""
    return {
        **window.to_facts(),
        "header": [_part(line, keep) for line, keep in header_parts(window, at_ms)],
        "errors": [pieces(line) for line in error_segments(window)],
        "nothing": [nothing_words(window, False), nothing_words(window, True)],
        "live": [pieces([segment]) for segment in window.live_lines],
        "clocks": _clocks(window, at_ms),
    }


def _clocks(window: Window, at_ms: int) -> list[Members]:
    """How long the tools that run now have been running, each with the line of its call, counted from the end."""
    clocks = tool_clocks(window, at_ms)
    lines = window.all_messages if clocks else []
    found = ((len(lines) - at, clocks.get(id(line))) for at, line in enumerate(lines))
    return [{"fromEnd": from_end, "line": pieces([clock])} for from_end, clock in found if clock is not None]


def _part(line: Line, keep: int | None) -> Members:
    return {"line": pieces(line)} if keep is None else {"line": pieces(line), "keep": keep}


def window_line(line: WindowLine) -> Members:
    """A line of a window, with its colours if it has any of its own, and what the tool returned."""
    told: Members = {"text": line.text, "kind": line.kind}
    styled = style_tool_line(line.text) if line.kind == "tool" else []
    if len(styled) > 1:
        told["pieces"] = pieces(styled)
    return {**told, "output": list(line.output)} if line.output else told


def windows_members(windows: Sequence[Window]) -> Members:
    """What the details say of all windows together."""
    return {
        "maxLinesPerWindow": windows[0].max_lines if windows else 0,
        "globalStatus": "running" if any(window.status == "running" for window in windows) else "done",
        "sessionIds": [window.state.session_id for window in windows],
        "view": {"status": pieces(tool_status_segments(windows)), "footer": pieces(footer_segments(windows))},
    }


def windows_details(windows: Sequence[Window]) -> Members:
    """The complete details of a delegation."""
    at_ms = now_ms()
    return {
        **windows_members(windows),
        "windows": [
            {
                **window_members(window, at_ms),
                "lines": [window_line(line) for line in window.lines],
                "allMessages": [window_line(line) for line in window.all_messages],
            }
            for window in windows
        ],
    }


# --- the other tools -----------------------------------------------------------------------------------------


def result_view(name: str, result: ToolResult) -> Members:
    """What a finished call shows; expanded, pi shows the whole text unless there is something else."""
    if result.is_error and not result.details:
        rows: list[Line] = [[(Style.ERROR, line)] for line in clean(result.text, keep_newlines=True).split("\n")]
        return _view(rows, rows)
    return _VIEWS[name](result) if name in _VIEWS else _view(excerpt_segments(result.text, _EXCERPT_LINES))


def progress_view(details: Members) -> Members:
    """What a call of `subagent` shows while it goes on."""
    told = zip(details["runs"], details.get("progress") or [], strict=False)
    # A line that begins with the number and preset of its run would name it twice.
    return _view(
        [
            run_line(run, words.removeprefix(f"{number}. {clean(run.get('preset') or '')}: "))
            for number, (run, words) in enumerate(told, 1)
        ]
    )


def _view(rows: list[Line], more: list[Line] | None = None) -> Members:
    view: Members = {"rows": [pieces(row) for row in rows]}
    return view if more is None else {**view, "more": [pieces(row) for row in more]}


def _retrieved(result: ToolResult) -> Members:
    return _view(excerpt_segments(result.text, int(result.details.get("maxLines") or _EXCERPT_LINES)))


def _listed(result: ToolResult) -> Members:
    return _view(excerpt_segments(result.text, len(result.text)))


def _subagent(result: ToolResult) -> Members:
    rows: list[Line] = []
    for run in result.details["runs"]:
        rows.append(run_line(run, _name(run)))
        rows += [[(Style.ERROR, f"  {line}")] for line in _lines(run.get("error"))[:3]]
    if result.details["mode"] == "single" and not result.is_error:
        rows += excerpt_segments(result.text, _EXCERPT_LINES)
    return _view(rows)


def _launched(result: ToolResult) -> Members:
    run = result.details["run"]
    return _view([[*_run_words(run, _name(run)), (Style.DIM, " • in the background")], _ids(run)])


def ended_view(run: Members) -> Members:
    """What the call that launched a background run shows once the run is over."""
    rows = [run_line(run, f"{_name(run)} • {run['status']}")]
    rows += [[(Style.ERROR, f"  {line}")] for line in _lines(run.get("error"))[:3]]
    return _view([*rows, _ids(run)])


def _ids(run: Members) -> Line:
    where: Line = [(Style.DIM, "  run "), (Style.ACCENT, run["runId"]), (Style.DIM, " • session ")]
    return [*where, (Style.ACCENT, run["sessionId"])]


def _status(result: ToolResult) -> Members:
    head = result.text.split("\n", 1)[0]
    rows: list[Line] = [[(Style.MUTED, head)]]
    for run in result.details["runs"]:
        rows.append([*run_line(run, _name(run)), (Style.DIM, f" • {run['runId']}")])
        rows += [[(Style.ERROR, f"  {line}")] for line in _lines(run.get("error"))[:3]]
    return _view(rows)


def end_line(status: str, words: str) -> Line:
    """What is said of a run's end, in one line."""
    return [_ICONS.get(status, _OTHER_ICON), (Style.TEXT, " "), (Style.MUTED, clean(words))]


def run_line(run: Members, words: str) -> Line:
    """A run of a preset in one line."""
    line = _run_words(run, words)
    if run.get("queued"):
        return [*line, (Style.DIM, " • waiting")]
    elapsed = (run["completedAt"] or now_ms()) - run["startedAt"] if run.get("startedAt") else 0
    return [*line, (Style.DIM, f" • {duration(elapsed // 1000 if not run['completedAt'] else elapsed / 1000)}")]


def _run_words(run: Members, words: str) -> Line:
    line: Line = [_ICONS.get(str(run["status"]), _OTHER_ICON), (Style.TEXT, " ")]
    if preset := run.get("preset"):
        line += [(Style.BOLD, preset), (Style.DIM, " • ")]
    return [*line, (Style.MUTED, clean(words))]


def _name(run: Members) -> str:
    return " ".join(clean(run.get("task") or "").split())[:80]


def _lines(text: str | None) -> list[str]:
    return [line for line in clean(text or "", keep_newlines=True).split("\n") if line.strip()]


_VIEWS: dict[str, Callable[[ToolResult], Members]] = {
    "get_subagent_output": _retrieved,
    "get_subagent_session": _retrieved,
    "list_subagent_profiles": _listed,
    "subagent": _subagent,
    "background_agent": _launched,
    "background_agent_status": _status,
}
