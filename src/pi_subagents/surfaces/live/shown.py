"""What a view can show: the runs of a delegation, or one run that somebody else holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pi_subagents.fold import RunState
from pi_subagents.settings import Settings


class ShownRun(Protocol):
    """A run that has a state."""

    @property
    def state(self) -> RunState: ...


class Shown(Protocol):
    """All that a view needs to know, and the one thing that it can ask for."""

    @property
    def runs(self) -> Sequence[ShownRun]: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def concurrency(self) -> int: ...

    @property
    def task_count(self) -> int: ...

    def stop(self, session_id: str | None = None) -> None:
        """Ask one run, or all of them, to end."""
        ...


@dataclass(frozen=True)
class OneRun:
    """A single run, and how to stop it."""

    state: RunState
    settings: Settings
    ask_to_stop: Callable[[], None]
    concurrency: int = 1
    task_count: int = 1

    @property
    def runs(self) -> Sequence[ShownRun]:
        return (self,)

    def stop(self, session_id: str | None = None) -> None:
        """Ask it to end."""
        self.ask_to_stop()
