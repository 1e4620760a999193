"""Where time comes from, so that tests can bring their own."""

from __future__ import annotations

import time
from collections.abc import Callable

NowMs = Callable[[], int]
"""Milliseconds since the epoch: what is written into records."""


def now_ms() -> int:
    """The wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
