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
from scripts.bootstrap import AGENTS
from tests.pi.stage import installed_pi

# As the test run found them: every test hides the user's variables and home from itself.
_ENVIRON = dict(os.environ)

NEEDED = ("claude", "codex")


def program_for(harness: str) -> Program | None:
    """The program that `./scripts/setup` brought, else the one that a variable names, as for `qwen`."""
    if harness in PI_HARNESSES:
        return installed_pi()
    if brought := next((agent.program for agent in AGENTS if agent.name == harness), None):
        return Program((str(brought),), "./scripts/setup")
    named = _ENVIRON.get(variable_of(harness))
    return Program(tuple(command_words(named)), "variable") if named else None


every_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: f"{story.number}-{story.name}")


@every_story
@pytest.mark.parametrize("harness", TESTED)
def test_an_agent_does_what_a_worker_must(harness: str, story: Story, tmp_path: Path) -> None:
    program = program_for(harness)
    if program is None:
        pytest.skip(f"{harness} is not here: ./scripts/setup brings it, or {variable_of(harness)} names it")
    # In a loop of its own: these programs work in real time, unlike all else here.
    result = asyncio.run(run_story(story, TESTED[harness], program, _ENVIRON, tmp_path))
    assert result.verdict.is_fine, f"{story.title}: {result.reason}"


@pytest.mark.parametrize("harness", NEEDED)
def test_the_agents_that_matter_most_are_here(harness: str) -> None:
    assert program_for(harness), "run ./scripts/setup; .venv/setup.log says why it could not be installed"


def test_there_are_thirty_stories_and_each_says_what_must_hold() -> None:
    assert [story.number for story in STORIES] == list(range(1, 31))
    assert len({story.name for story in STORIES}) == len({story.title for story in STORIES}) == len(STORIES)
    assert all(story.title and "\n" not in story.title for story in STORIES)


def test_every_exception_is_of_a_tested_agent_and_a_story_and_has_a_reason() -> None:
    assert set(EXCEPTIONS) == set(TESTED)
    for exceptions in EXCEPTIONS.values():
        assert set(exceptions) <= {story.number for story in STORIES}
        assert all(exceptions.values())
