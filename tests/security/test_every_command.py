"""Every command and every tool, in every hostile project: nothing of it is executed, and nothing outside is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.commands import Attempt, attempts, carry_out, name_of, not_attempted
from tests.security.kit import Victim
from tests.security.projects import PROJECTS, HostileProject
from tests.security.things import NEIGHBOUR, NEIGHBOUR_SESSION, OTHER_RUN, OTHER_SESSION


@pytest.fixture
def visitor(project: HostileProject, tmp_path: Path) -> Iterator[Victim]:
    """Somebody who has cloned the project, and in most of them has run something before."""
    victim = Victim(tmp_path, project.clone_name)
    victim.receives(project.table)
    if project.has_records:
        victim.has_run_before()
    victim.arm()
    yield victim
    victim.end_leftovers()


def test_every_command_and_every_tool_is_attacked() -> None:
    assert not_attempted() == [], "write into tests/security/commands.py how these are called"


@pytest.mark.parametrize("attempt", attempts(), ids=name_of)
@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_no_command_does_what_a_strangers_project_wants(
    project: HostileProject, attempt: Attempt, visitor: Victim
) -> None:
    session, run = (NEIGHBOUR_SESSION, NEIGHBOUR) if project.has_records else (OTHER_SESSION, OTHER_RUN)
    done = carry_out(visitor, attempt, session, run)
    visitor.is_unharmed_by(done, writes=attempt.writes, why=f"it tries to {project.tries_to}")
