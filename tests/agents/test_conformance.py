"""Every agent does on its real program what a worker must do, but for what is declared of it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pi_subagents.conformance import EXCEPTIONS, STORIES, TESTED, Story, run_story
from pi_subagents.harness import PI_HARNESSES, Program
from pi_subagents.harness.pi.programs import command_words
from pi_subagents.harness.programs import variable_of
from scripts.bootstrap import AGENTS, OTHER_AGENTS
from tests.pi.stage import installed_pi

# As the test run found them: every test hides the user's variables and home from itself.
_ENVIRON = dict(os.environ)

NEEDED = (*AGENTS, *(OTHER_AGENTS if _ENVIRON.get("EVERY_AGENT") else ()))
"""What `./scripts/test` tests; `./scripts/conformance` sets the variable, and then it is all."""


def program_for(harness: str) -> Program | None:
    """The program that our scripts brought, else the one that a variable names."""
    if harness in PI_HARNESSES:
        return installed_pi()
    if brought := next((agent.program for agent in NEEDED if agent.name == harness), None):
        return Program((str(brought),), "scripts")
    named = _ENVIRON.get(variable_of(harness))
    return Program(tuple(command_words(named)), "variable") if named else None


every_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: f"{story.number}-{story.name}")


@every_story
@pytest.mark.parametrize("harness", TESTED)
def test_an_agent_does_what_a_worker_must(harness: str, story: Story, tmp_path: Path) -> None:
    program = program_for(harness)
    if program is None and harness in {agent.name for agent in OTHER_AGENTS}:
        pytest.skip(f"./scripts/conformance tests {harness}, and so does whoever names it in {variable_of(harness)}")
    assert program, f"{harness} is not here: run ./scripts/setup; .venv/setup.log says why it could not be installed"
    # In a loop of its own: these programs work in real time, unlike all else here.
    result = asyncio.run(run_story(story, TESTED[harness], program, _ENVIRON, tmp_path))
    assert result.verdict.is_fine, f"{story.title}: {result.reason}"


def test_there_are_thirty_stories_and_each_says_what_must_hold() -> None:
    assert [story.number for story in STORIES] == list(range(1, 31))
    assert len({story.name for story in STORIES}) == len({story.title for story in STORIES}) == len(STORIES)
    assert all(story.title and "\n" not in story.title for story in STORIES)


def test_every_exception_is_of_a_tested_agent_and_a_story_and_has_a_reason() -> None:
    assert set(EXCEPTIONS) == set(TESTED)
    for exceptions in EXCEPTIONS.values():
        assert set(exceptions) <= {story.number for story in STORIES}
        assert all(known.reason and known.seen for known in exceptions.values())


def test_every_agent_that_is_tested_is_brought_by_a_script() -> None:
    brought = {agent.name for agent in (*AGENTS, *OTHER_AGENTS)}
    assert brought == {harness for harness in TESTED if harness not in PI_HARNESSES}
