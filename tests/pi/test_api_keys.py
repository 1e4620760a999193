"""A profile's API key: it is the one the provider sees, and nobody else sees it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi_subagents import Task
from pi_subagents.offline import Call, Fail, Say, Script
from tests.kit.processes import all_pids, command_line
from tests.kit.waiting import until_async
from tests.pi.stage import WAIT_S, Play, Stage, files_below

KEY = "sk-profile-0123456789abcdef"


def store_other_key(stage: Stage) -> Path:
    """A key in auth.json, which pi prefers to that in models.json and to any variable."""
    path = stage.agent_dir / "auth.json"
    path.write_text(json.dumps({"offline": {"type": "api_key", "key": "sk-stored-in-auth-json"}}))
    return path


def files_with(secret: str, directory: Path) -> list[Path]:
    return [path for path in files_below(directory) if secret.encode() in path.read_bytes()]


async def test_the_provider_sees_the_profiles_key_however_the_profile_names_its_model(stage: Stage) -> None:
    forms = {
        "provider": ["provider: offline", "model: scripted"],
        "slash": ["model: offline/scripted"],
        "pattern": ["model: scripted:low"],
        "default": [],
        "alone": ["noExtensions: true", "noSkills: true", "noContextFiles: true", "noTools: true"],
    }
    stored = store_other_key(stage)
    before = stored.read_bytes()
    for name, fields in forms.items():
        stage.write_profile(name, *fields, f"apiKey: {KEY}-{name}")
    tasks = [Task(name, name, profile=name) for name in forms]
    results = await stage.delegate(*tasks, Task("none", "none"))
    assert [result.error for result in results] == [None] * 6
    sent = {request.first_user_text: request.authorization for request in stage.model.requests}
    assert sent == {"none": "Bearer sk-stored-in-auth-json", **{name: f"Bearer {KEY}-{name}" for name in forms}}
    assert stored.read_bytes() == before


async def test_tools_do_not_inherit_the_key(play: Play) -> None:
    commands = ["env", "cat /proc/self/environ | tr '\\0' '\\n'", 'echo "[$PI_API_KEY]"']
    stage = play(Script().otherwise([*(Call("bash", {"command": command}) for command in commands), Say("Ok.")]))
    stage.write_profile("p", f"apiKey: {KEY}")
    (result,) = await stage.delegate(Task("t", "Go.", profile="p"))
    assert result.ok
    environments = [answer.text for answer in stage.model.requests[-1].tool_results]
    assert all("PI_SUBAGENTS_CHILD=1" in text for text in environments[:2])
    assert environments[2].strip() == "[]"
    assert KEY not in "".join(environments)
    assert stage.model.requests[-1].authorization == f"Bearer {KEY}"


async def test_while_an_agent_works_its_key_is_in_no_command_line_and_no_file_of_the_run(play: Play) -> None:
    wait = Call("bash", {"command": "touch here; until [ -e go ]; do sleep 0.05; done"})
    stage = play(Script().otherwise([wait, Say("Ok.")]))
    key = f"{KEY}-while-it-works"  # no other test may put this one into a command line
    stage.write_profile("p", f"apiKey: {key}")
    async with stage.delegation(Task("t", "Go.", profile="p")) as delegation:
        work = asyncio.ensure_future(delegation)
        await until_async((stage.project / "here").exists)
        (run_dir,) = stage.run_dirs
        commands = list(map(command_line, all_pids()))
        assert any(str(run_dir).encode() in command for command in commands)
        assert not any(key.encode() in command for command in commands)
        assert (run_dir / "agent-dir" / "auth.json").exists()
        assert files_with(key, run_dir) == []
        (stage.project / "go").touch()
        (result,) = await asyncio.wait_for(work, WAIT_S)
    assert result.ok
    assert files_with(key, run_dir) == []
    assert not (run_dir / "agent-dir").exists()


@pytest.mark.parametrize("containment", ["auto", "guard"])
async def test_a_key_that_an_agent_gets_hold_of_all_the_same_is_in_no_record_and_no_answer(
    play: Play, containment: str
) -> None:
    # Whoever reads the environment its own agent was started with finds the key there.
    steal = f"cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep KEY; env | grep KEY; echo {KEY} >&2"
    stage = play(Script().otherwise([Call("bash", {"command": steal}), lambda r: Say(r.tool_results[-1].text)]))
    stage.environ["PARENTS_API_KEY"] = parents = "sk-of-the-caller-9876"
    stage.write_settings(containment=containment)
    stage.write_profile("p", f"apiKey: {KEY}")
    answer = await stage.call({"name": f"t {KEY}", "prompt": f"Use {KEY}.", "profile": "p"})
    assert answer.text.startswith("✓")
    assert parents in stage.model.requests[-1].tool_results[-1].text  # it was there to be seen
    (run_dir,) = stage.run_dirs
    assert (files_with(KEY, run_dir), files_with(parents, run_dir)) == ([], [])
    shown = json.dumps(answer.to_json())
    assert (KEY in shown, parents in shown, "[redacted]" in shown) == (False, False, True)


async def test_a_provider_that_quotes_the_key_in_its_error_does_not_spread_it(play: Play) -> None:
    stage = play(Script().otherwise([Fail(401, f"Incorrect API key provided: {KEY}")]))
    stage.write_profile("p", f"apiKey: {KEY}")
    answer = await stage.call({"name": "t", "prompt": "Go.", "profile": "p"})
    assert "Incorrect API key provided: [redacted]" in answer.text
    assert KEY not in json.dumps(answer.to_json())
    assert files_with(KEY, stage.project / ".pi" / "subagents") == []
