"""Victims for every test here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.kit import Victim


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    """Somebody with a home full of canaries and an empty clone."""
    victim = Victim(tmp_path)
    yield victim
    victim.end_leftovers()
