"""What has changed since the last look: as much as is new is sent, and nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_subagents.clock import now_ms
from pi_subagents.progress import MAX_MESSAGES, Window, WindowLine
from pi_subagents.surfaces.bridge.views import window_line, window_members, windows_members

Patch = dict[str, Any]
_MISSING = object()


class Members:
    """Named values, of which only those are told that are new or different."""

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}

    def news(self, members: dict[str, Any]) -> dict[str, Any]:
        """The members that the other side does not know yet."""
        fresh = {name: value for name, value in members.items() if self._told.get(name, _MISSING) != value}
        self._told |= fresh
        return fresh


class Lines:
    """The lines of a window as the other side has them."""

    def __init__(self) -> None:
        self._told: list[WindowLine] = []

    def news(self, lines: list[WindowLine]) -> tuple[int, list[WindowLine]]:
        """How many of the last lines to take away, and which to add then."""
        if lines == self._told:
            return 0, []
        # Lines are compared as the objects they are: the same words may well be said twice. The first may have been
        # replaced, by itself with its output; then they are all told anew.
        start = next((at for at, line in enumerate(self._told) if lines and line is lines[0]), 0)
        kept = self._told[start:]
        same = next((at for at, (old, new) in enumerate(zip(kept, lines, strict=False)) if old is not new), None)
        same = min(len(kept), len(lines)) if same is None else same
        self._told = lines
        return len(kept) - same, lines[same:]


class WindowPatches:
    """The changes of a delegation's windows."""

    def __init__(self) -> None:
        self._all = Members()
        self._windows: list[tuple[Members, Lines]] = []

    def news(self, windows: Sequence[Window]) -> Patch:
        """What is new in the windows; empty if nothing is."""
        at_ms = now_ms()
        while len(self._windows) < len(windows):
            self._windows.append((Members(), Lines()))
        changes = [self._window(index, window, at_ms) for index, window in enumerate(windows)]
        patch: Patch = {}
        if fresh := self._all.news(windows_members(windows)):
            patch["set"] = fresh
        if told := [change for change in changes if len(change) > 1]:
            patch["windows"] = told
        return patch

    def _window(self, index: int, window: Window, at_ms: int) -> dict[str, Any]:
        members, lines = self._windows[index]
        change: dict[str, Any] = {"index": index}
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
        self._members = Members()
        self._states: object = None

    def news(self, details: dict[str, Any], view: dict[str, Any]) -> Patch:
        """What is new in the details; empty if nothing is."""
        states = [(run["runId"], run["status"], run.get("queued")) for run in details["runs"]]
        members = {**{name: value for name, value in details.items() if name != "runs"}, "view": view}
        fresh = self._members.news(members)
        if states != self._states:
            self._states = states
            fresh["runs"] = details["runs"]
        return {"set": fresh} if fresh else {}
