"""Fixtures for tests of the full screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.watch.kit import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Two projects with shelves for their sessions."""
    bench = Bench(tmp_path)
    yield bench
    bench.close()
