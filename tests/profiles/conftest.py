"""Fixtures of the tests of profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.profiles import invalidate_profiles_cache
from tests.profiles.kit import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A project without profiles."""
    invalidate_profiles_cache()
    return Place(tmp_path)
