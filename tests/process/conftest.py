"""Every test here gets a stage; those that are about leftovers get one for each containment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_subagents.runners import namespace_works
from pi_subagents.supervisor import stopping, supervisor
from tests.kit.waiting import PATIENCE_S
from tests.process.kit import Stage, make_stage

_NAMESPACE = pytest.param("namespace", marks=pytest.mark.skipif(not namespace_works(), reason="needs root"))


@pytest.fixture(params=[_NAMESPACE, "guard"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """A project whose agents are contained in one of the two ways."""
    stage = make_stage(tmp_path, request.param)
    yield stage
    stage.close()


@pytest.fixture
def plain_stage(tmp_path: Path) -> Iterator[Stage]:
    """A project for what has nothing to do with containment."""
    stage = make_stage(tmp_path, "guard")
    yield stage
    stage.close()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is stopped or killed for being slow, so whoever ends within our patience has ended without that."""
    monkeypatch.setattr(supervisor, "SETTLE_GRACE_S", 2 * PATIENCE_S)
    monkeypatch.setattr(stopping, "STOP_GRACE_S", 2 * PATIENCE_S)
