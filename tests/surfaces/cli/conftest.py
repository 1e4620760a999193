"""Fixtures for tests that run the command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pi.fixtures import pi, play
from tests.surfaces.cli.background_desk import BackgroundDesk
from tests.surfaces.cli.machine import Machine
from tests.surfaces.cli.session_desk import Desk

__all__ = ["background_desk", "desk", "machine", "pi", "play"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which nothing is installed."""
    return Machine(tmp_path / "a machine")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A user with a project and a shelf for its sessions."""
    desk = Desk(tmp_path)
    yield desk
    desk.shelf.close()


@pytest.fixture
def background_desk(tmp_path: Path) -> Iterator[BackgroundDesk]:
    """A user with presets for background runs; whatever still runs is stopped."""
    desk = BackgroundDesk(tmp_path)
    yield desk
    desk.close()
