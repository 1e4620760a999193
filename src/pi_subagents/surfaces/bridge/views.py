"""What results look like, as styled lines: the extension only adds colours and cuts where the terminal ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.progress import (
    Window,
    WindowLine,
    error_segments,
    footer_segments,
    header_parts,
    nothing_words,
    tool_clocks,
    tool_status_segments,
)
from pi_subagents.text import Line, Style, clean, style_tool_line
from pi_subagents.tools import TOOLS, ToolResult
from pi_subagents.tools.outputs import run_line

Members = dict[str, Any]
Pieces = list[list[str]]


def pieces(line: Line) -> Pieces:
    """A line as it goes over the wire."""
    return [[style.value, clean(text)] for style, text in line]


# --- windows -----------------------------------------------------------------------------------


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


# --- lines -----------------------------------------------------------------------------------------


def result_view(name: str, result: ToolResult) -> Members:
    """What a finished call shows; expanded, pi shows the whole text unless there is something else."""
    if result.is_error and not result.details:
        rows: list[Line] = [[(Style.ERROR, line)] for line in clean(result.text, keep_newlines=True).split("\n")]
        return lines_view(rows, rows)
    return lines_view(TOOLS[name].display(result))


def progress_view(details: Members) -> Members:
    """What a call of `subagent` shows while it goes on."""
    told = zip(details["runs"], details.get("progress") or [], strict=False)
    # A line that begins with the number and preset of its run would name it twice.
    return lines_view(
        [
            run_line(run, words.removeprefix(f"{number}. {clean(run.get('preset') or '')}: "))
            for number, (run, words) in enumerate(told, 1)
        ]
    )


def lines_view(rows: list[Line], more: list[Line] | None = None) -> Members:
    """Lines as they go over the wire, and those to show instead when the person wants to see more."""
    view: Members = {"rows": [pieces(row) for row in rows]}
    return view if more is None else {**view, "more": [pieces(row) for row in more]}
