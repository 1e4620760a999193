"""Fixtures for tests that run the command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pi.fixtures import pi, play
from tests.surfaces.cli.desk import Desk
from tests.surfaces.cli.machine import Machine

__all__ = ["desk", "machine", "pi", "play"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing is installed."""
    return Machine(tmp_path / "a machine")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A user with a project, presets and a shelf for sessions; whatever still runs is stopped."""
    desk = Desk(tmp_path)
    yield desk
    desk.close()
