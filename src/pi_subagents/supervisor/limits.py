"""The limits of a run: how long it may take, and how often it may repeat itself. No clock of their own."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from pi_subagents.models.event import ToolCallPart


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run is allowed; 0 switches the extension or the loop detection off, None the timeout.

    Beyond `journal_bytes` the journal leaves out details; at twice as much the run is stopped.
    """

    timeout_s: float | None = 600
    extension_s: float = 30
    loop_count: int = 5
    journal_bytes: int = 1_000_000_000


class Deadline:
    """Two timers in one: the timeout, and once it has passed, a short leash that every tool call renews."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._extension_s = limits.extension_s
        self._extended = False
        self.at: float | None = None if limits.timeout_s is None else now + limits.timeout_s

    def tool_called(self, now: float) -> bool:
        """Take note that the agent is working; True if the deadline moved."""
        if self._extended:
            self.at = now + self._extension_s
        return self._extended

    def passed(self, now: float) -> bool:
        """Called when the deadline is reached: True if the run must end, False if it got an extension."""
        if self._extended or self._extension_s <= 0:
            return True
        self._extended = True
        self.at = now + self._extension_s
        return False


class LoopDetector:
    """Notices the same tool call made several times in a row."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._last = b""
        self._repeats = 0

    def tool_called(self, call: ToolCallPart) -> bool:
        """Take note of a call; True once it is the n-th identical one in a row."""
        if self._count <= 0:
            return False
        signature = msgspec.json.encode((call.name, call.arguments))
        self._repeats = self._repeats + 1 if signature == self._last else 1
        self._last = signature
        return self._repeats >= self._count
