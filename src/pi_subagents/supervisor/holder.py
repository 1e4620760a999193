"""Whoever holds a run, in this process or elsewhere: what a delegation asks of it."""

from __future__ import annotations

from typing import Protocol

from pi_subagents.fold import RunState
from pi_subagents.models.run import Reason
from pi_subagents.outcome import CANCELLED_SENTENCE


class Holder(Protocol):
    """One run, from its record to its final state."""

    @property
    def state(self) -> RunState: ...

    @property
    def can_steer(self) -> bool:
        """Whether the agent can be told something through this process while it works."""
        ...

    async def run(self) -> RunState:
        """See the run through; returns the final state."""
        ...

    def stop(self, reason: Reason = Reason.CANCELLED, message: str = CANCELLED_SENTENCE) -> None:
        """Ask the run to end; the first to ask decides why it ended. Returns at once."""
        ...

    def steer(self, text: str) -> str | None:
        """Tell the agent something before its next turn; returns why not, if it cannot be told."""
        ...

    def heed_request(self) -> None:
        """Stop if another process has asked for it."""
        ...

    def detach(self, owner: str) -> None:
        """Make the run a background run, of whose end `owner` is to be told."""
        ...
