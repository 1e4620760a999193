"""Runs stories with an agent, each in its own empty place and with a time limit, and says which of them hold."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pi_subagents.conformance.agents import TestedAgent
from pi_subagents.conformance.exceptions import EXCEPTIONS
from pi_subagents.conformance.sink import Sink
from pi_subagents.conformance.stage import Broken, Stage
from pi_subagents.conformance.stories import STORIES, Story
from pi_subagents.harness import Program, harness_named
from pi_subagents.paths import data_dir
from pi_subagents.place import Place

STORY_S = 150.0
"""Longer than any story needs, even on a busy machine."""


class Verdict(StrEnum):
    """How a story went."""

    HOLDS = "holds"
    BROKEN = "broken"
    EXCEPTED = "excepted"
    UNEXPECTED = "unexpected"
    """It holds although `EXCEPTIONS` says that it does not."""

    @property
    def is_fine(self) -> bool:
        """Whether that was to be expected of the agent."""
        return self in (Verdict.HOLDS, Verdict.EXCEPTED)


@dataclass(frozen=True)
class Result:
    """A story that was run; `reason` says why it does not hold."""

    story: Story
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0


def program_for(agent: TestedAgent, place: Place) -> Program:
    """The program to test; raises AgentNotFound."""
    return harness_named(agent.harness).find_program(place, place.settings())


async def run_suite(
    agent: TestedAgent, program: Program, environ: Mapping[str, str], stories: Iterable[Story] = STORIES
) -> AsyncIterator[Result]:
    """Run the stories in turn; yields each result as soon as there is one."""
    for story in stories:
        with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as folder:
            yield await run_story(story, agent, program, environ, Path(folder))


async def run_story(
    story: Story, agent: TestedAgent, program: Program, environ: Mapping[str, str], folder: Path
) -> Result:
    """Run one story in an empty folder."""
    since = time.monotonic()
    broken = await _told(story, agent, program, environ, folder)
    return _judged(story, agent.harness, broken, time.monotonic() - since)


async def _told(
    story: Story, agent: TestedAgent, program: Program, environ: Mapping[str, str], folder: Path
) -> str | None:
    """Run the story; returns what does not hold, or None."""
    with Sink() as sink:
        stage = Stage(folder, agent, surroundings(agent, program, environ), sink)
        try:
            async with asyncio.timeout(STORY_S):
                await story.tell(stage)
        except Broken as broken:
            return str(broken)
        except TimeoutError:
            return f"it took longer than {STORY_S:g} s"
        except Exception as error:  # noqa: BLE001 - one story that fails in a new way must not hide the others
            return f"{type(error).__name__}: {error}"
    return None


def _judged(story: Story, harness: str, broken: str | None, seconds: float) -> Result:
    known = EXCEPTIONS.get(harness, {}).get(story.number)
    if broken is None:
        if known is None:
            return Result(story, Verdict.HOLDS, seconds=seconds)
        return Result(story, Verdict.UNEXPECTED, f"it holds despite its exception: {known.reason}", seconds)
    if known is None or known.seen not in broken:
        return Result(story, Verdict.BROKEN, broken, seconds)
    return Result(story, Verdict.EXCEPTED, known.reason, seconds)


def surroundings(agent: TestedAgent, program: Program, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a story: where programs are, and nothing else from the caller's."""
    return {
        "PATH": environ.get("PATH", os.defpath),
        "PI_SUBAGENTS_DATA_DIR": str(data_dir(environ)),
        agent.variable: shlex.join(program.argv),
    }
