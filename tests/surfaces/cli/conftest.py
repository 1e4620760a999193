"""Fixtures for tests that run the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pi.fixtures import pi, play
from tests.surfaces.cli.machine import Machine

__all__ = ["machine", "pi", "play"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing is installed."""
    return Machine(tmp_path / "a machine")
