"""A desk for every test here."""

from __future__ import annotations

import pytest

from tests.bridge.kit import Desk
from tests.pi.fixtures import pi, play
from tests.process.conftest import plain_stage
from tests.process.kit import Stage

__all__ = ["pi", "plain_stage", "play"]


@pytest.fixture
def desk(plain_stage: Stage) -> Desk:
    """A project where bridges are started."""
    return Desk(plain_stage)
