"""Whoever holds a run, here or elsewhere, and who answers for it until then: published means ended by somebody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from pi_subagents.clock import now_ms
from pi_subagents.encoding import as_utf8
from pi_subagents.errors import StoreError
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Invocation
from pi_subagents.models.event import Ended
from pi_subagents.models.run import Reason
from pi_subagents.outcome import CANCELLED_SENTENCE, ending
from pi_subagents.store import RunRecord


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


_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt)


class PublishedRun(Protocol):
    """A run that others can see."""

    @property
    def record(self) -> RunRecord: ...

    @property
    def state(self) -> RunState: ...

    @property
    def invocation(self) -> Invocation: ...


@contextmanager
def answering_for(runs: Iterable[PublishedRun]) -> Iterator[None]:
    """Whatever is raised in the block, none of these runs stays open that nobody else has taken over by then."""
    try:
        yield
    except BaseException as error:
        for run in runs:
            if run.record.is_held_here:
                _give_up(run, _end_for(error))
        raise


def _end_for(error: BaseException) -> Ended:
    if isinstance(error, _CANCELLED):
        return ending(Reason.CANCELLED, CANCELLED_SENTENCE, now_ms())
    reason = Reason.RECORD if isinstance(error, StoreError) else Reason.SPAWN
    return ending(reason, as_utf8(str(error)) or type(error).__name__, now_ms())


def _give_up(run: PublishedRun, ended: Ended) -> None:
    try:
        for name in run.invocation.temporary:
            run.record.remove(name)
        if not run.state.status.is_terminal:
            with suppress(StoreError):  # whoever reads it next finds that nobody holds it, and ends it
                run.record.append([ended])
            fold(run.state, [ended])
    finally:
        run.record.close()
