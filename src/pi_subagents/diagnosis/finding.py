"""A check of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pi_subagents.diagnosis.situation import Situation
from pi_subagents.models.finding import Finding

Check = Callable[[Situation], Iterable[Finding]]
