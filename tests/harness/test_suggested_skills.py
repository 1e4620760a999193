"""What a profile suggests as a skill can be read by the real agents, wherever it is, but not changed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pi_subagents.conformance import TESTED
from pi_subagents.conformance.sink import Sink
from pi_subagents.conformance.stage import Outcome, Stage
from pi_subagents.conformance.suite import surroundings
from pi_subagents.harness import PI_HARNESSES, harness_named
from pi_subagents.harness.capabilities import fields_taken
from pi_subagents.offline import Call, Say
from tests.agents.test_conformance import program_for

AGENTS = [
    name
    for name in TESTED
    if name not in PI_HARNESSES and "suggested_skills" in fields_taken(harness_named(name))  # pi knows skills itself
]
# As the test run found them: every test hides the user's variables and home from itself.
_ENVIRON = dict(os.environ)


@pytest.mark.parametrize("approvals", [None, "deny"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_suggested_skill_can_be_read_with_its_files_but_not_changed(
    agent: str, approvals: str | None, tmp_path: Path
) -> None:
    program = program_for(agent)
    if program is None:
        pytest.skip(f"{agent} is not here: ./scripts/setup brings it, or a variable names it")
    tested = TESTED[agent]
    tools = tested.tools
    with Sink() as sink:
        stage = Stage(tmp_path, tested, surroundings(tested, program, _ENVIRON), sink)
        folder = stage.agent_dir / "skills" / "tidy (a) [b]"
        skill = stage.write(
            folder / "SKILL.md", "---\nname: tidy\ndescription: How to tidy up\n---\nSweep floor 4711.\n"
        )
        rules = stage.write(folder / "more" / "rules.md", "Never with water.\n")

        async def run(*calls: Call) -> Outcome:
            profile = {"approvals": approvals, "suggestedSkills": ["tidy"]}
            return await stage.run("Go.", *calls, Say("Done."), **profile)

        read = asyncio.run(run(tools.read(skill), tools.read(rules)))
        assert str(skill) in str(read.asked[0].body)
        told = [result.text for result in read.asked[-1].tool_results]
        assert "Sweep floor 4711." in told[0]
        assert "Never with water." in told[1]
        asyncio.run(run(tools.read(rules), tools.edit(rules, "Never", "Always")))
        assert rules.read_text() == "Never with water.\n"
