"""A stranger's project, opened in the real pi: what was decided there about trusting it is what counts here."""

from __future__ import annotations

import json

import pytest

from pi_subagents.offline import Call, Say, Script
from pi_subagents.trust import Decisions
from tests.extension.conftest import PlayWithExtension
from tests.extension.rpc import Pi, results, text_of

_TASKS = [{"name": "plain", "prompt": "Work."}, {"name": "power", "prompt": "Work.", "profile": "power"}]


@pytest.mark.parametrize(("option", "runs"), [("--no-approve", False), (None, False), ("--approve", True)])
def test_the_projects_own_program_runs_only_if_its_user_approved(
    play_with_extension: PlayWithExtension, option: str | None, runs: bool
) -> None:
    script = Script().when("Go.", [Call("delegate_to_subagents", {"tasks": _TASKS}), Say("Done.")])
    stage = play_with_extension(script.otherwise([Say("It is done.")]))
    Decisions(stage.agent_dir).revoke(stage.project)
    mark = stage.root / "mark"
    program = stage.write(".pi/pi.sh", f"#!/bin/sh\ntouch {mark}\nexit 3\n")
    program.chmod(0o755)
    stage.write(".pi/settings.json", json.dumps({"subagents": {"piCommand": "./pi.sh"}}))
    stage.write_profile("power", "extensions: ./x.ts")
    with Pi(stage, *([option] if option else [])) as pi:
        (result,) = results(pi.prompt("Go."))
    assert mark.exists() is runs
    text = text_of(result)
    warnings = "".join(result["result"]["details"].get("warnings", ()))
    assert ("subagents.piCommand (runs a program) has no effect" in warnings) is not runs
    assert ('"extensions" (loads code) cannot be used' in text) is not runs
    assert ("✓ plain: completed" in text) is not runs
