"""What only the newest pi does: scripts that call tools, and a full screen in which page keys scroll the chat."""

from __future__ import annotations

import pytest

from pi_subagents.extension import PROTOCOL
from pi_subagents.harness import Program
from pi_subagents.offline import Call, Say, Script
from pi_subagents.tools import TOOLS
from scripts.bootstrap import NEWEST_PI_VERSION
from tests.extension.conftest import PlayWithExtension, change_manifest
from tests.extension.rpc import Pi, results, text_of
from tests.extension.terminal import open_pi
from tests.pi.stage import pi_of_version
from tests.surfaces.live.watching import needs_tmux

_CODE = """
const calls = [
  tools.delegate_to_subagents({ tasks: [{ name: "alpha", prompt: "Work." }] }),
  tools.get_subagent_output({ sessionId: "0000000000000000" }),
];
const ends = await Promise.allSettled(calls);
return ends.map((end) => end.value ?? `failed: ${end.reason.message}`).join("\\n");
"""


@pytest.fixture
def pi() -> Program:
    return pi_of_version(NEWEST_PI_VERSION)


def test_a_script_uses_the_tools_and_hears_of_failures_and_what_agents_spent_is_counted(
    play_with_extension: PlayWithExtension,
) -> None:
    script = Script().when("Go.", [Call("codemode", {"code": _CODE}), Say("Done.")]).when("Work.", [Say("It is done.")])
    stage = play_with_extension(script)
    with Pi(stage, "--tools", "+codemode") as pi:
        events = pi.prompt("Go.")
    *nested, whole = results(events)
    assert {event["toolName"]: event["isError"] for event in nested} == {
        "delegate_to_subagents": False,
        "get_subagent_output": True,
    }
    assert "✓ alpha: completed (session: " in text_of(whole)
    assert 'failed: Session "0000000000000000" not found.' in text_of(whole)
    spent = next(event for event in nested if not event["isError"])["result"]["usage"]
    messages = [event["message"] for event in events if event["type"] == "message_end"]
    (told,) = [message for message in messages if message["role"] == "toolResult"]
    assert told["usage"]["input"] == spent["input"] > 0


def test_a_session_in_which_the_bridge_was_refused_has_its_tools_again_when_it_no_longer_is(
    play_with_extension: PlayWithExtension,
) -> None:
    stage = play_with_extension(Script().otherwise([Say("Yes.")] * 3))
    with Pi(stage) as pi:
        pi.prompt("Go.")
        session = pi.ask(type="get_session_stats")["sessionFile"]
    change_manifest(stage, protocol=PROTOCOL + 1)
    with Pi(stage, "--session", session) as refused:
        refused.notice()
        refused.prompt("Go on.")
    change_manifest(stage, protocol=PROTOCOL)
    with Pi(stage, "--session", session) as again:
        again.prompt("Go on.")
    ours = [set(request.tools) & set(TOOLS) for request in stage.model.requests]
    assert ours == [set(TOOLS), set(), set(TOOLS)]


@needs_tmux
def test_page_keys_go_to_the_list_of_agents_and_not_to_the_chat_behind_it(
    play_with_extension: PlayWithExtension,
) -> None:
    tasks = [{"name": name, "prompt": "Work."} for name in ("alpha", "beta", "gamma")]
    script = Script().when("Delegate.", [Call("delegate_to_subagents", {"tasks": tasks}), Say("Parent done.")])
    stage = play_with_extension(script.otherwise([Say("It is done.")] * 3))
    with open_pi(stage, 80, 24) as pi:
        pi.say("Delegate.")
        pi.until_shown("Parent done.")
        pi.say("/subagents")
        first = _chosen(pi.until_shown("▸ ✓"))
        pi.press("PageDown")
        pi.terminal.until_screen(lambda screen: _chosen(screen) not in ("", first), "another one is chosen")
        pi.press("PageUp")
        pi.terminal.until_screen(lambda screen: _chosen(screen) == first, "the first one is chosen again")


def _chosen(screen: str) -> str:
    return screen.partition("▸ ✓ ")[2].partition(" ")[0]
