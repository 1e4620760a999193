"""How many agent processes are started side by side: as many as there are cores with nothing better to do.

A start keeps a core busy for half a second. Where the agents that there are compute, one of them is free sooner than
a new one would be ready, and the start would hold it up. Where they wait for their model, the core is idle.
"""

from __future__ import annotations

import msgspec

THINKING_AFTER_S = 0.08
"""An agent that says nothing for so long waits for its model or a tool; at work it says something every 30 ms."""
PATIENCE_S = 0.25
"""How long a task waits at most for an agent of its kind: one that streams a long answer computes hardly at all."""

STARTING_S = 5.0
"""A process that has said nothing since it was started so long ago has no claim to a core."""

_MIN_LOOK_S = 0.001


class Outlook(msgspec.Struct, frozen=True):
    """What is known when a task needs an agent and none is free."""

    cores: int
    starting: int
    """Processes that are not ready."""
    silences_s: tuple[float, ...]
    """How long each agent of the task's kind that is at work, and may be kept, has said nothing."""
    waited_s: float
    """How long the task has waited since there was such an agent."""
    settled: int = 0
    """Agents of its kind that are free as soon as the end of their run is recorded."""

    @property
    def may_start(self) -> bool:
        """Whether another process should be started for the task."""
        if self.starting >= self.cores:
            return False
        if self.settled:
            return self.waited_s >= PATIENCE_S
        computing = sum(silence < THINKING_AFTER_S for silence in self.silences_s)
        return not self.silences_s or self.starting + computing < self.cores or self.waited_s >= PATIENCE_S

    @property
    def look_again_s(self) -> float:
        """When the answer may be another one, though nothing else has happened."""
        if self.starting >= self.cores or not (self.silences_s or self.settled):
            return PATIENCE_S
        left = [THINKING_AFTER_S - silence for silence in self.silences_s if silence < THINKING_AFTER_S]
        return max(_MIN_LOOK_S, min([*left, PATIENCE_S - self.waited_s]))
