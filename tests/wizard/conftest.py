"""Fixtures of the wizard's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wizard.person import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A project without profiles."""
    return Desk(tmp_path)
