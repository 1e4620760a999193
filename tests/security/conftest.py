"""Victims for every test here; each worker has one press for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.kit import Press, Victim


@pytest.fixture(scope="session")
def press() -> Iterator[Press]:
    """Runs the command."""
    press = Press()
    yield press
    press.close()


@pytest.fixture
def victim(press: Press, tmp_path: Path) -> Iterator[Victim]:
    """Somebody with a home full of canaries and an empty clone."""
    victim = Victim(tmp_path, press)
    yield victim
    victim.end_leftovers()
