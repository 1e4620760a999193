"""Tests with the real pi."""

from __future__ import annotations

import pytest

from pi_subagents.agents import agent
from pi_subagents.delegation import program_facts
from pi_subagents.offline import Say, Script
from pi_subagents.runs import live
from pi_subagents.supervisor import stopping, supervisor
from tests.kit.waiting import PATIENCE_S
from tests.pi.fixtures import pi, play
from tests.pi.stage import Play, Stage

__all__ = ["pi", "play"]


@pytest.fixture
def stage(play: Play) -> Stage:
    """Where the model says "Ok." to everything."""
    return play(Script().otherwise([Say("Ok.")]))


@pytest.fixture(autouse=True)
def _patience_with_pi(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pi that is slow because the machine is busy does what it would have done: it is not given up before."""
    for module, name in ((live, "_TIMEOUT_S"), (program_facts, "TIMEOUT_S")):
        monkeypatch.setattr(module, name, PATIENCE_S)
    for module, name in ((stopping, "ABORT_GRACE_S"), (supervisor, "SETTLE_GRACE_S"), (stopping, "STOP_GRACE_S")):
        monkeypatch.setattr(module, name, PATIENCE_S)
    monkeypatch.setattr(agent, "RENEWAL_S", PATIENCE_S)
