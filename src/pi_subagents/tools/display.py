"""How runs of presets look to people, in lines: while a call goes on, and in its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.text import Line, Segment, Style, clean, duration

Row = Mapping[str, Any]

_ICONS = {
    "running": (Style.WARNING, "⏳"),
    "completed": (Style.SUCCESS, "✓"),
    "failed": (Style.ERROR, "✗"),
    "aborted": (Style.ERROR, "✗"),
}
_OTHER_ICON = (Style.DIM, "•")
_ERROR_LINES = 3


def run_line(run: Row, words: str) -> Line:
    """A run in one line."""
    line = _run_words(run, words)
    if run.get("queued"):
        return [*line, (Style.DIM, " • waiting")]
    elapsed = (run["completedAt"] or now_ms()) - run["startedAt"] if run.get("startedAt") else 0
    return [*line, (Style.DIM, f" • {duration(elapsed // 1000 if not run['completedAt'] else elapsed / 1000)}")]


def run_lines(run: Row, *more: Segment) -> list[Line]:
    """A run with its task, and what went wrong."""
    return [[*run_line(run, _task(run)), *more], *_error_lines(run)]


def launched_lines(run: Row) -> list[Line]:
    """A run that has just begun in the background."""
    return [[*_run_words(run, _task(run)), (Style.DIM, " • in the background")], _ids(run)]


def ended_lines(run: Row) -> list[Line]:
    """What stands in place of `launched_lines` once the run is over."""
    return [run_line(run, f"{_task(run)} • {run['status']}"), *_error_lines(run), _ids(run)]


def end_line(status: str, words: str) -> Line:
    """What is said of a run's end, in one line."""
    return [_ICONS.get(status, _OTHER_ICON), (Style.TEXT, " "), (Style.MUTED, clean(words))]


def _run_words(run: Row, words: str) -> Line:
    line: Line = [_ICONS.get(str(run["status"]), _OTHER_ICON), (Style.TEXT, " ")]
    if preset := run.get("preset"):
        line += [(Style.BOLD, preset), (Style.DIM, " • ")]
    return [*line, (Style.MUTED, clean(words))]


def _task(run: Row) -> str:
    return " ".join(clean(run.get("task") or "").split())[:80]


def _error_lines(run: Row) -> list[Line]:
    lines = [line for line in clean(run.get("error") or "", keep_newlines=True).split("\n") if line.strip()]
    return [[(Style.ERROR, f"  {line}")] for line in lines[:_ERROR_LINES]]


def _ids(run: Row) -> Line:
    where: Line = [(Style.DIM, "  run "), (Style.ACCENT, run["runId"]), (Style.DIM, " • session ")]
    return [*where, (Style.ACCENT, run["sessionId"])]
