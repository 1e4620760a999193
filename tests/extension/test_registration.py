"""Which tools pi gets, when, and with which models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pi_subagents import __version__
from pi_subagents.installing import pi_extension
from pi_subagents.offline import Request, Say, Script
from pi_subagents.tools import TOOLS
from pi_subagents.wizard.steps import ALLOW_LIST
from tests.extension.conftest import PlayWithExtension, change_manifest
from tests.extension.rpc import Pi
from tests.pi.stage import Stage

_NEED_A_MODEL = {"subagent", "background_agent", "background_agent_status"}
_PROMPTS = 30
_SCRIPT = Script().otherwise([Say("Yes.")] * _PROMPTS)

# A stand-in for what /login and new entries in models.json do to a running pi.
_PROVIDERS = """
export default function (pi) {
  const model = (id) => ({ id, name: id, reasoning: false, input: ["text"], contextWindow: 9999, maxTokens: 999,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } });
  pi.registerCommand("models", { handler: async (args, ctx) => {
    const [provider, ...ids] = args.split(" ");
    const how = { baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", api: "openai-completions" };
    if (ids.length) pi.registerProvider(provider, { ...how, models: ids.map(model) });
    else pi.unregisterProvider(provider);
    const offered = () => ctx.modelRegistry.getAvailable().filter((one) => one.provider === provider);
    const isDone = () => offered().map((one) => one.id).join(" ") === ids.join(" ");
    while (!isDone()) await new Promise((ready) => setTimeout(ready, 10));
  } });
  pi.registerCommand("tools", { handler: async (_args, ctx) => {
    const schema = pi.getAllTools().find((tool) => tool.name === "subagent")?.parameters;
    ctx.ui.notify(JSON.stringify({ active: pi.getActiveTools(), models: schema?.properties.model.enum ?? null }));
  } });
  pi.registerCommand("connect", { handler: async (name) => {
    const parameters = { type: "object", properties: {} };
    pi.registerTool({ name, label: name, description: name, parameters, execute: async () => ({ content: [] }) });
  } });
}
"""


@pytest.fixture
def stage(play_with_extension: PlayWithExtension) -> Stage:
    stage = play_with_extension(_SCRIPT)
    (stage.agent_dir / "extensions" / "providers.ts").write_text(_PROVIDERS)
    return stage


def _state(pi: Pi) -> dict[str, Any]:
    pi.command("/tools")
    notice = next(event for event in reversed(pi.said) if event.get("method") == "notify")
    state: dict[str, Any] = json.loads(notice["message"])
    return {"active": set(state["active"]) & set(TOOLS), "models": state["models"]}


def _request(stage: Stage) -> Request:
    return stage.model.requests[-1]


def _enum(request: Request, tool: str) -> Any:
    (schema,) = [one["function"]["parameters"] for one in request.body["tools"] if one["function"]["name"] == tool]
    return schema["properties"]["model"].get("enum")


def test_the_models_that_can_be_named_are_those_of_pi_in_its_order(stage: Stage) -> None:
    with Pi(stage) as pi:
        pi.prompt("Go.")
        assert set(TOOLS) <= set(_request(stage).tools)
        assert _enum(_request(stage), "subagent") == _enum(_request(stage), "background_agent") == ["offline/scripted"]
        pi.command("/models zeta two one")
        pi.prompt("Go on.")
        assert _enum(_request(stage), "subagent") == ["offline/scripted", "zeta/two", "zeta/one"]
        # The same models in another order are no news: the prompt that a provider has cached stays as it is.
        pi.command("/models zeta one two")
        pi.prompt("Go on.")
        assert _enum(_request(stage), "subagent") == ["offline/scripted", "zeta/two", "zeta/one"]
        pi.command("/models zeta")
        # pi may find a provider once more that has just gone; what counts is what it offers when it is asked something.
        for _ in range(_PROMPTS - 4):
            pi.prompt("Go on.")
            if _enum(_request(stage), "subagent") == ["offline/scripted"]:
                break
        assert _enum(_request(stage), "subagent") == ["offline/scripted"]


def test_a_tool_that_came_late_can_be_chosen_for_a_profile(stage: Stage) -> None:
    with Pi(stage) as pi:
        pi.command("/profile list")
        pi.command("/connect mcp__notes__write")  # as a server does that takes its time
        pi.choices = ("Project", ALLOW_LIST, "Yes", "Keep", "Skip: leave it to the agent", "Save it")
        pi.answers = {"input": {"value": ""}, "editor": {"value": ""}}
        asked = [event.get("title", "") for event in pi.command("/profile edit writer")]
    (question,) = [title for title in asked if "Tools to allow" in title]
    offered = set(question.partition("(available: ")[2].rstrip(")").split(", "))
    assert {"read", "grep", "mcp__notes__write"} <= offered
    assert not offered & set(TOOLS)


def test_without_a_model_the_tools_that_need_one_wait_for_it(stage: Stage) -> None:
    (stage.agent_dir / "models.json").write_text('{"providers": {}}')
    with Pi(stage) as pi:
        assert _state(pi) == {"active": set(TOOLS) - _NEED_A_MODEL, "models": None}
        pi.command("/models zeta one")
        pi.ask(type="set_model", provider="zeta", modelId="one")
        assert _state(pi) == {"active": set(TOOLS), "models": ["zeta/one"]}


@pytest.mark.parametrize(("deepest", "tools"), [(1, set()), (2, set(TOOLS))])
def test_a_child_has_the_tools_only_above_the_deepest_level(stage: Stage, deepest: int, tools: set[str]) -> None:
    environ = {"PI_SUBAGENTS_CHILD": "1", "PI_SUBAGENTS_DEPTH": "1", "PI_SUBAGENTS_MAX_DEPTH": str(deepest)}
    with Pi(stage, environ=environ) as pi:
        assert _state(pi)["active"] == tools
        commands = {command["name"] for command in pi.ask(type="get_commands")["commands"]}
        assert bool(commands & {"profile", "subagents"}) == bool(tools)


def test_a_delegated_agent_is_a_child_in_this_sense(stage: Stage) -> None:
    done = stage.command("run", "--plain", "Go.")
    assert done.returncode == 0, done.stderr
    assert not set(_request(stage).tools) & set(TOOLS)


def test_installed_for_the_user_and_in_the_project_it_is_there_once(stage: Stage) -> None:
    pi_extension.install(stage.place, "project", __version__)
    with Pi(stage, "--approve") as pi:
        pi.prompt("Go.")
        assert sorted(set(_request(stage).tools) & set(TOOLS)) == sorted(TOOLS)
        assert len(_request(stage).tools) == len(set(_request(stage).tools))


def test_damaged_files_do_not_keep_pi_from_starting(stage: Stage) -> None:
    (stage.agent_dir / "extensions" / "pi-subagents" / "tools.json").write_text("{}")
    with Pi(stage) as pi:
        assert pi.notice().startswith("pi-subagents cannot use its tools.json")
        assert _state(pi)["active"] == set()


def test_a_bridge_that_cannot_be_started_is_told_of_in_one_line(stage: Stage) -> None:
    change_manifest(stage, bridge=[str(stage.root / "gone"), "bridge"])
    with Pi(stage) as pi:
        notice = pi.notice()
        assert notice.startswith("pi-subagents: the bridge stopped (cannot start: ")
        assert "\n" not in notice
        pi.prompt("Go.")


def test_a_bridge_of_another_protocol_is_told_of_in_one_line_and_there_are_no_tools(stage: Stage) -> None:
    change_manifest(stage, protocol=99)
    with Pi(stage) as pi:
        notice = pi.notice()
        assert notice.startswith("pi-subagents: ")
        assert "install pi" in notice
        assert "\n" not in notice
        assert _state(pi)["active"] == set()


def test_files_of_an_earlier_version_are_renewed_and_that_is_said(stage: Stage) -> None:
    folder = change_manifest(stage, version="0.0.1")
    (folder / "bridge.ts").write_text((folder / "bridge.ts").read_text() + "\n// older\n")
    with Pi(stage) as pi:
        notice = pi.notice()
    assert notice == (
        f"pi-subagents: Updated the pi extension from pi-subagents 0.0.1 to {__version__}; type /reload to use it."
    )
    assert not pi_extension.install(stage.place, "user", __version__, dry_run=True).is_needed
