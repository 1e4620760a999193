"""Fixtures for tests of the full screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.watch.kit import Bench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Two projects with shelves for their sessions; the screen does not wait a second before it looks again."""
    monkeypatch.setattr("pi_subagents.surfaces.watch.app.IDLE_S", 0.1)
    bench = Bench(tmp_path)
    yield bench
    bench.close()
