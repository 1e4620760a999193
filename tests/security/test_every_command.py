"""Every command and every tool, in every hostile project: nothing of it is executed, and nothing outside is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.waiting import until
from tests.security.commands import Attempt, attempts, not_attempted
from tests.security.kit import (
    NEIGHBOUR,
    NEIGHBOUR_SESSION,
    OTHER_RUN,
    OTHER_SESSION,
    RUNS,
    Done,
    Victim,
    below,
    finished,
)
from tests.security.projects import PROJECTS, HostileProject


def name_of(attempt: Attempt) -> str:
    return " ".join(attempt.argv)[:60]


def carry_out(victim: Victim, attempt: Attempt, session: str, run: str) -> Done:
    """Run the command as the table says."""
    words = attempt.words(session, run, str(victim.scratch))
    if attempt.typed:
        return victim.run_at_terminal(*words, shown=b"neighbour", typed=attempt.typed)
    done = victim.run(*words, stdin=attempt.stdin)
    if "background" in " ".join(words[:2]):
        until(lambda: not victim.processes(), "what was started in the background has ended")
    return done


@pytest.fixture
def visitor(project: HostileProject, tmp_path: Path) -> Iterator[Victim]:
    """Somebody who has cloned the project, and in most of them has run something before."""
    victim = Victim(tmp_path, project.clone_name)
    victim.receives(project.table)
    if project.has_records:
        victim.receives(below(f"{RUNS}/{NEIGHBOUR}", finished(NEIGHBOUR, name="neighbour")))
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
