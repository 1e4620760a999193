"""Everything a frame depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pi_subagents.models import Status
from pi_subagents.progress import Window
from pi_subagents.surfaces.live.controls import Stop


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
