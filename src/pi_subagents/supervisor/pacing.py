"""Backing off together: a provider that is too busy for one run is not asked by the next before it is due again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi_subagents.fold import RunState
from pi_subagents.models import event as ev
from pi_subagents.store import Pace

_TOO_BUSY = re.compile(r"\b(429|529)\b|rate.?limit|overloaded|too many requests", re.IGNORECASE)
_SPREAD_MS = 1000
"""Those who were held back do not all begin in the same instant."""


class Pacing:
    """For one run; `default_provider` is whom it will ask if neither profile nor agent has said yet."""

    def __init__(self, pace: Pace, default_provider: str | None) -> None:
        self._pace = pace
        self._default_provider = default_provider

    def provider_of(self, state: RunState) -> str:
        """Whom a run asks, as far as it is known; nobody is the empty text."""
        prefix = state.model.partition("/")[0] if state.model and "/" in state.model else None
        return state.provider or prefix or self._default_provider or ""

    def hold(self, state: RunState, now: int) -> int:
        """Until when the run must wait (ms); 0 if it may begin."""
        provider = self.provider_of(state)
        until = self._pace.resumes_at(provider, now) if provider else 0
        return until + sum(state.run_id.encode()) * 7919 % _SPREAD_MS if until else 0

    def heed(self, state: RunState, events: Sequence[ev.AnyEvent]) -> None:
        """Pass on what the provider of a run at work has asked for."""
        for event in events:
            if isinstance(event, ev.RetryStarted) and _TOO_BUSY.search(event.message):
                self._pace.slow_down(self.provider_of(state), event.at + event.delay_ms, event.at)
