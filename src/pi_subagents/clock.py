"""Where time comes from, so that tests can bring their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

NowMs = Callable[[], int]
"""Milliseconds since the epoch: what is written into records."""

LAST_MS = 253_402_300_799_999
"""The end of the year 9999. What a record says beyond it, or before the epoch, is no time that anybody can show."""


def now_ms() -> int:
    """The wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def iso_time(milliseconds: int) -> str:
    """A moment as programs and people write it down: `2026-01-31T12:00:00.123000Z`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat().replace("+00:00", "Z")


def elapsed_ms(started_at: int | None, completed_at: int | None) -> int:
    """From one moment to a later one; 0 where either is not known."""
    return 0 if started_at is None or completed_at is None else completed_at - started_at
