"""Where time comes from, so that tests can bring their own."""

from __future__ import annotations

import time
from collections.abc import Callable

NowMs = Callable[[], int]
"""Milliseconds since the epoch: what is written into records."""

LAST_MS = 253_402_300_799_999
"""The end of the year 9999. What a record says beyond it, or before the epoch, is no time that anybody can show."""


def now_ms() -> int:
    """The wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
