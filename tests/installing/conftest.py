"""Fixtures for tests that install into the configuration of clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.installing.kit import User


@pytest.fixture
def user(tmp_path: Path) -> User:
    """Somebody who has configured nothing yet."""
    return User(tmp_path)
