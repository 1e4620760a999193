"""A desk for every test here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.waiting import PATIENCE_S
from tests.pi.fixtures import pi, play
from tests.process.conftest import plain_stage
from tests.process.kit import Stage
from tests.surfaces.mcp.kit import ERAS, Desk

__all__ = ["pi", "plain_stage", "play"]


@pytest.fixture(autouse=True)
def _patient_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that hangs up waits until the server has stopped its runs; after two seconds it would kill it."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", PATIENCE_S)


@pytest.fixture
def desk(plain_stage: Stage, tmp_path: Path) -> Desk:
    """A client of the protocol's revisions with a handshake."""
    return Desk(plain_stage)


@pytest.fixture(params=ERAS)
def either_desk(request: pytest.FixtureRequest, plain_stage: Stage) -> Desk:
    """The same for clients of either era of the protocol."""
    return Desk(plain_stage, request.param)
