"""One program that makes holders for all tests of a worker, and a stage for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.runners import choose_mechanism
from tests.process.kit import Stage, make_stage
from tests.recovery.kit import Holders


@pytest.fixture(scope="session")
def holders() -> Iterator[Holders]:
    made = Holders()
    yield made
    made.close()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """A project with the containment that is the default here."""
    return make_stage(tmp_path, choose_mechanism())
