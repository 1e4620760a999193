"""What results look like, as styled lines: the extension only adds colours and cuts where the terminal ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.progress import (
    MAX_MESSAGES,
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


# --- changes ---------------------------------------------------------------------------------------


class _Told:
    """Named values as the other side has them."""

    def __init__(self) -> None:
        self._members: Members = {}

    def news(self, members: Members) -> Members:
        """The members that are new or different."""
        fresh = {
            name: value for name, value in members.items() if name not in self._members or self._members[name] != value
        }
        self._members |= fresh
        return fresh


class _ToldLines:
    """The lines of a window as the other side has them."""

    def __init__(self) -> None:
        self._lines: list[WindowLine] = []

    def news(self, lines: list[WindowLine]) -> tuple[int, list[WindowLine]]:
        """How many of the last lines to take away, and which to add then."""
        if lines == self._lines:
            return 0, []
        # Lines are compared as the objects they are: the same words may well be said twice. The first may have been
        # replaced, by itself with its output; then they are all told anew.
        start = next((at for at, line in enumerate(self._lines) if lines and line is lines[0]), 0)
        kept = self._lines[start:]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(kept, lines, strict=False)))
        self._lines = lines
        return len(kept) - same, lines[same:]


class WindowPatches:
    """The changes of a delegation's windows: as much as is new is sent, and nothing twice."""

    def __init__(self) -> None:
        self._all = _Told()
        self._windows: list[tuple[_Told, _ToldLines]] = []

    def news(self, windows: Sequence[Window]) -> Members:
        """What is new in the windows; empty if nothing is."""
        at_ms = now_ms()
        while len(self._windows) < len(windows):
            self._windows.append((_Told(), _ToldLines()))
        changes = [self._window(index, window, at_ms) for index, window in enumerate(windows)]
        patch: Members = {}
        if fresh := self._all.news(windows_members(windows)):
            patch["set"] = fresh
        if told := [change for change in changes if len(change) > 1]:
            patch["windows"] = told
        return patch

    def _window(self, index: int, window: Window, at_ms: int) -> Members:
        members, lines = self._windows[index]
        change: Members = {"index": index}
        if fresh := members.news(window_members(window, at_ms)):
            change["set"] = fresh
        dropped, pushed = lines.news(window.all_messages[-MAX_MESSAGES:])
        if dropped:
            change["drop"] = dropped
        if pushed:
            change["push"] = [window_line(line) for line in pushed]
        return change


class RunPatches:
    """The changes of a call of `subagent`. Its rows hold whole tasks: they are told only when a run begins or ends."""

    def __init__(self) -> None:
        self._told = _Told()
        self._states: object = None

    def news(self, details: Members) -> Members:
        """What is new in the details; empty if nothing is."""
        states = [(run["runId"], run["status"], run.get("queued")) for run in details["runs"]]
        rest = {name: value for name, value in details.items() if name != "runs"}
        fresh = self._told.news({**rest, "view": progress_view(details)})
        if states != self._states:
            self._states = states
            fresh["runs"] = details["runs"]
        return {"set": fresh} if fresh else {}
