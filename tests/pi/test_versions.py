"""What a profile promises holds on every line of pi: the one that everything here runs on, and the newest known."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pi_subagents.harness.pi.pi import PiJson
from pi_subagents.harness.pi.programs import NEWEST_KNOWN
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.models import Reason, Task
from pi_subagents.offline import Call, OfflineModel, Say, Script
from pi_subagents.outcome import HANDLED_SENTENCE
from pi_subagents.processes.install import PINNED_PI_VERSION
from scripts.bootstrap import NEWEST_PI_VERSION
from tests.pi.stage import Play, Stage, pi_of_version

VERSIONS = (PINNED_PI_VERSION, NEWEST_PI_VERSION)

# Without any library: pi waits ten seconds for a server, and on a busy machine the imports would take longer.
SERVER = """
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
folder.joinpath("started").touch()
schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
tool = {"name": "write_note", "description": "Write a note.", "inputSchema": schema}
for line in sys.stdin:
    request = json.loads(line)
    method, params, result = request.get("method"), request.get("params", {}), {}
    if method == "initialize":
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
        result = {"protocolVersion": params["protocolVersion"], **about}
    elif method == "tools/list":
        result = {"tools": [tool]}
    elif method == "tools/call":
        folder.joinpath("note").write_text(params["arguments"]["text"])
        result = {"content": [{"type": "text", "text": "written"}]}
    if "id" in request:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\\n")
        sys.stdout.flush()
"""


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def play(tmp_path: Path, version: str) -> Iterator[Play]:
    """As everywhere in these tests, with the pi of that version."""
    with ExitStack() as models:
        program = pi_of_version(version)
        yield lambda script: Stage(tmp_path, pi=program, model=models.enter_context(OfflineModel(script)))


def is_new(version: str) -> bool:
    return version == NEWEST_PI_VERSION


@pytest.fixture
def staged(play: Play, tmp_path: Path) -> Callable[..., Stage]:
    """A function that makes a place where the user has an MCP server whose tool writes."""

    def make(*turns: Call | Say, exposure: str = "direct") -> Stage:
        stage = play(Script().otherwise([*turns, Say("Done.")]))
        stage.write_settings(timeout=60)
        program = tmp_path / "server.py"
        program.write_text(SERVER)
        server = {"command": sys.executable, "args": ["-I", "-S", str(program), str(tmp_path)], "exposure": exposure}
        (stage.agent_dir / "mcp.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
        return stage

    return make


def offered(stage: Stage) -> set[str]:
    """The tools that the model was offered at first."""
    return set(stage.model.requests[0].tools)


def server_was_started(stage: Stage) -> bool:
    return (stage.root / "started").exists()


def test_the_newest_version_that_is_tested_is_the_newest_that_is_known() -> None:
    assert tuple(map(int, NEWEST_PI_VERSION.split("."))) == NEWEST_KNOWN


async def test_without_a_restriction_an_agent_has_the_tools_of_the_users_servers(
    staged: Callable[..., Stage], version: str
) -> None:
    stage = staged()
    assert (await stage.run()).ok
    assert offered(stage) == {"read", "bash", "edit", "write"} | (
        {"mcp__notes__write_note"} if is_new(version) else set()
    )


@pytest.mark.parametrize(
    ("harness", "fields", "left"),
    [
        (PiJson, ["tools: [read, grep]"], {"read", "grep"}),
        (PiJson, ["noTools: true", "tools: read", "excludeTools: [bash]"], set()),
        (PiJson, ["excludeTools: write,edit,bash"], {"read", "grep", "find", "ls"}),
        (PiRpc, ["excludeTools: write,edit,bash"], {"read", "grep", "find", "ls"}),
    ],
)
async def test_a_restricted_agent_has_no_other_tools_and_no_server_is_started_for_it(
    staged: Callable[..., Stage], harness: type[PiJson | PiRpc], fields: list[str], left: set[str]
) -> None:
    stage = staged()
    stage.write_profile("reader", *fields)
    (result,) = await stage.delegate(Task("t", "Go.", profile="reader"), harness=harness())
    assert result.ok
    assert offered(stage) == left
    assert not server_was_started(stage)


async def test_a_tool_of_a_server_can_be_named(staged: Callable[..., Stage], version: str) -> None:
    stage = staged(Call("mcp__notes__write_note", {"text": "hello"}))
    stage.write_profile("writer", "tools: read, mcp__notes__write_note")
    assert (await stage.run(profile="writer")).ok
    assert offered(stage) == {"read"} | ({"mcp__notes__write_note"} if is_new(version) else set())
    assert (stage.root / "note").exists() is is_new(version)


async def test_what_an_agent_says_does_and_costs_is_understood(play: Play, version: str) -> None:
    stage = play(Script().otherwise([Call("bash", {"command": "echo 42"}), Say("Done.")]))
    result = await stage.run()
    assert (result.output, result.tool_count) == ("Done.", 1)
    assert result.usage.input > 0
    assert '"type":"unknown"' not in (result.run_dir / "events.jsonl").read_text()


async def test_a_provider_alone_gets_the_model_that_pis_settings_name(play: Play, version: str) -> None:
    stage = play(Script().otherwise([Say("Done.")]))
    stage.write_profile("p", "provider: offline")
    assert (await stage.run(profile="p")).output == "Done."
    assert [request.model for request in stage.model.requests] == ["scripted"]


async def test_a_provider_with_several_models_and_no_default_is_told_before_the_start_if_pi_insists(
    play: Play, version: str
) -> None:
    stage = play(Script().otherwise([Say("Done.")]))
    models = json.loads((stage.agent_dir / "models.json").read_text())
    models["providers"]["offline"]["models"] *= 2
    models["providers"]["offline"]["models"][1] = {**models["providers"]["offline"]["models"][1], "id": "other"}
    (stage.agent_dir / "models.json").write_text(json.dumps(models))
    settings = json.loads((stage.agent_dir / "settings.json").read_text())
    settings.pop("defaultModel", None)
    (stage.agent_dir / "settings.json").write_text(json.dumps(settings))
    stage.write_profile("p", "provider: offline")
    result = await stage.run(profile="p")
    assert result.ok is not is_new(version)
    if is_new(version):
        assert 'The provider "offline" is set without a model' in str(result.error)
        assert "offline/other, offline/scripted" in str(result.error)
        assert stage.model.requests == []


@pytest.mark.parametrize("version", [NEWEST_PI_VERSION], indirect=True)
async def test_a_prompt_that_an_extension_takes_for_its_command_is_told_as_what_it_is(play: Play) -> None:
    stage = play(Script().otherwise([Say("Ok.")]))
    extension = stage.write("ship.ts", "export default (pi: any) => pi.registerCommand('ship', { handler() {} });\n")
    stage.write_profile("p", f"extensions: {extension}")
    (result,) = await stage.delegate(Task("t", "/ship it", profile="p"), harness=PiRpc())
    assert (result.reason, result.error) == (Reason.AGENT_ERROR, HANDLED_SENTENCE)
    assert stage.model.requests == []


async def test_an_agent_whose_conversation_goes_on_is_restricted_again(staged: Callable[..., Stage]) -> None:
    stage = staged()
    stage.write_settings(resumeMode="native")
    stage.write_profile("reader", "tools: read")
    first = await stage.run(profile="reader")
    second = await stage.run("Go on.", profile="reader", resume=first.session_id)
    assert (first.ok, second.ok) == (True, True)
    assert [set(request.tools) for request in stage.model.requests] == [{"read"}, {"read"}]
    assert not server_was_started(stage)


@pytest.mark.parametrize("more", ["description: Runs scripts.", "extraArgs: ['--']"])
async def test_a_script_of_a_restricted_agent_reaches_nothing_that_the_agent_does_not(
    staged: Callable[..., Stage], version: str, more: str
) -> None:
    script = "for (const tool of ALL_TOOLS) text(tool.name); await tools.mcp__notes__write_note({text: 'x'})"
    stage = staged(Call("codemode", {"code": script}), exposure="codemode")
    stage.write_profile("scripter", "tools: read, codemode", more)
    assert (await stage.run(profile="scripter")).ok
    assert offered(stage) == {"read"} | ({"codemode"} if is_new(version) else set())
    assert not (stage.root / "note").exists()
    if is_new(version):
        (answer,) = stage.model.requests[-1].tool_results
        assert "read" in answer.text
        assert "write" not in answer.text.replace("write_note", "")
    assert not server_was_started(stage)
