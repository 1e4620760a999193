"""Fixtures for every test that needs the real pi; a conftest makes them known by importing them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pi_subagents.errors import AgentNotFound
from pi_subagents.harness import Program
from pi_subagents.offline import OfflineModel
from tests.pi.stage import Play, Stage, installed_pi


@pytest.fixture(scope="session")
def pi() -> Program:
    """The real pi; without it these tests fail, because the rest would prove little."""
    try:
        return installed_pi()
    except AgentNotFound as error:
        pytest.fail(str(error))


@pytest.fixture
def play(tmp_path: Path, pi: Program) -> Iterator[Play]:
    """A function that starts a model with a script and makes the place in which agents talk to it."""
    with ExitStack() as models:
        yield lambda script: Stage(tmp_path, pi=pi, model=models.enter_context(OfflineModel(script)))
