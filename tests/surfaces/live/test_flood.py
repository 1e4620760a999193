"""Agents that print faster than anybody can read: nothing is lost, and memory does not grow with it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.flood import COLUMNS, flood
from tests.kit.waiting import PATIENCE_S

MAX_GROWTH_MB = 30.0
"""Ten times what is seen; the flood itself is larger than that every second."""


def test_after_a_flood_the_last_state_is_right_and_memory_is_bounded(tmp_path: Path) -> None:
    # Two and a half seconds at that rate; a busy machine takes longer for as many records.
    flooded = flood(tmp_path / "flood", seconds=PATIENCE_S / 2, rate=12_000, agents=4, view=True, records=30_000)
    assert flooded.is_right
    assert flooded.records >= 4000
    assert flooded.growth_mb < MAX_GROWTH_MB
    assert flooded.frames > 5
    assert flooded.key_ms, "no key had an effect"
    ending = flooded.tail.decode("utf-8", "replace")
    assert "Sub-agents: \x1b[0m\x1b[32m4 completed" in ending
    assert ending.count("✓") >= 4
    assert "\x1b[?25h" in ending  # the cursor is back
    assert COLUMNS == 80
