"""What a profile allows and says, seen where it counts: in what the model is offered and told."""

from __future__ import annotations

import pytest

from pi_subagents import Task
from pi_subagents.offline import Call, Request, Say, Script
from tests.pi.stage import Play, Stage

PI_SAYS = "inside pi, a coding agent harness"
LONG_BODY = "You are a cat, \u00fc\u4e2d. " * 20_000 + "Purr."
"""Longer than any command line may be."""


async def ask(stage: Stage, *profiles: str | None) -> list[Request]:
    """The first request of an agent with each of the profiles; the prompt is the profile's name."""
    results = await stage.delegate(*(Task("t", str(name), profile=name) for name in profiles))
    assert [result.error for result in results] == [None] * len(profiles)
    asked = {request.first_user_text: request for request in stage.model.requests if request.step == 0}
    return [asked[str(name)] for name in profiles]


async def test_what_excluding_leaves_is_computed_from_the_tools_of_the_caller(stage: Stage) -> None:
    stage.write_profile("less", "excludeTools: bash")
    await stage.delegate(Task("t", "Go.", profile="less"), available_tools=["read", "bash", "ls"])
    (request,) = stage.model.requests
    assert set(request.tools) == {"read", "ls"}


async def test_a_tool_that_was_not_offered_cannot_be_used_all_the_same(play: Play) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "touch made-by-bash"}), Say("Ok.")]))
    stage.write_profile("readonly", "tools: read")
    await ask(stage, "readonly")
    assert "not found" in stage.model.requests[-1].tool_results[0].text
    assert not (stage.project / "made-by-bash").exists()


async def test_pis_grep_works_with_the_rg_that_came_with_it_and_does_not_find_our_own_records(play: Play) -> None:
    stage = play(Script().otherwise([Call("grep", {"pattern": "needle"}), Say("Ok.")]))
    (stage.project / ".git").mkdir()
    stage.write("hay.txt", "hay\nneedle\nhay\n")
    stage.write_profile("searcher", "tools: grep")
    await ask(stage, "searcher")
    assert stage.model.requests[-1].tool_results[0].text == "hay.txt:2: needle"


async def test_the_body_replaces_pis_own_prompt_and_the_appended_text_follows_it(stage: Stage) -> None:
    stage.write_profile("cat", body="You are a cat.")
    stage.write_profile("polite", "appendSystemPrompt: Always say please.")
    stage.write_profile("both", "appendSystemPrompt: Always say please.", body=LONG_BODY)
    cat, polite, both = await ask(stage, "cat", "polite", "both")
    assert cat.system_text.startswith("You are a cat.")
    assert PI_SAYS not in cat.system_text
    assert PI_SAYS in polite.system_text
    assert "Always say please." in polite.system_text.partition(PI_SAYS)[2]
    assert both.system_text.startswith(LONG_BODY)
    assert "Always say please." in both.system_text
    assert PI_SAYS not in both.system_text


async def test_a_prompt_that_is_also_the_name_of_a_file_is_passed_on_as_text(stage: Stage) -> None:
    stage.write("README.md", "Not these words.")
    stage.write_profile("odd", "appendSystemPrompt: README.md", body="README.md")
    (odd,) = await ask(stage, "odd")
    assert odd.system_text.startswith("README.md")
    assert "Not these words." not in odd.system_text


async def test_context_files_are_read_unless_the_profile_forbids_them(stage: Stage) -> None:
    stage.write("AGENTS.md", "Be nice to cats.")
    stage.write_profile("alone", "noContextFiles: true")
    plain, alone = await ask(stage, None, "alone")
    assert "Be nice to cats." in plain.system_text
    assert "Be nice to cats." not in alone.system_text


async def test_the_thinking_level_arrives_at_the_model(stage: Stage) -> None:
    stage.write_profile("quick", "thinkingLevel: off")
    stage.write_profile("deep", "thinkingLevel: high")
    stage.write_profile("short", "model: offline/scripted:low")
    efforts = [request.body.get("reasoning_effort") for request in await ask(stage, "quick", "deep", "short")]
    assert efforts == [None, "high", "low"]


@pytest.mark.parametrize("field", ["", "noExtensions: true"])
async def test_the_users_extensions_are_loaded_unless_the_profile_forbids_them(stage: Stage, field: str) -> None:
    extension = stage.agent_dir / "extensions" / "noise.ts"
    extension.parent.mkdir()
    extension.write_text("export default function (pi: any) { process.stderr.write('loaded the extension\\n'); }\n")
    stage.write_profile("p", field)
    (result,) = await stage.delegate(Task("t", "Go.", profile="p"))
    stderr = result.run_dir / "stderr.log"
    assert stderr.exists() is not bool(field)


async def test_an_extension_named_by_the_profile_is_loaded_and_further_arguments_are_passed_on(stage: Stage) -> None:
    extension = stage.write("noise.ts", "export default (pi: any) => { process.stderr.write('loaded it\\n'); };\n")
    stage.write_profile("p", "noExtensions: true", f"extensions: {extension}", "extraArgs: [--tools, 'read,ls']")
    (request,) = await ask(stage, "p")
    assert set(request.tools) == {"read", "ls"}
    (run_dir,) = stage.run_dirs
    assert (run_dir / "stderr.log").read_text() == "loaded it\n"


async def test_the_tasks_own_profile_goes_before_that_of_the_call(stage: Stage) -> None:
    stage.write_profile("a", body="I am a.")
    stage.write_profile("b", body="I am b.")
    answer = await stage.call(
        {"name": "1", "prompt": "one"}, {"name": "2", "prompt": "two", "profile": "b"}, profile="a"
    )
    told = {request.first_user_text: request.system_text for request in stage.model.requests}
    assert told["one"].startswith("I am a.")
    assert told["two"].startswith("I am b.")
    assert [window["profileName"] for window in answer.details["windows"]] == ["a", "b"]
