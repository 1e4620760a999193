"""Fixtures for tests that install into the configuration of clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.installing.kit import User


@pytest.fixture(autouse=True)
def _own_turn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installations of one user wait for each other, but not those of other tests at the same time."""
    with TemporaryDirectory(prefix="installing-", dir="/tmp") as folder:  # a short path
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@pytest.fixture
def user(tmp_path: Path) -> User:
    """Somebody who has configured nothing yet."""
    return User(tmp_path)
