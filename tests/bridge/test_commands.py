"""`/profile` through pi's dialogs, and `/subagents` on a screen of pi's terminal or without one."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.models import Status
from pi_subagents.store import load_run
from pi_subagents.testing import prints, script
from pi_subagents.testing.agent import pauses, repeats_steering, touches
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, answer, assistant, tool_call
from tests.bridge.kit import Desk, Extension, plain
from tests.kit.desks import DONE
from tests.kit.waiting import until


def rows(bridge: Extension) -> list[str]:
    """What the screen shows at the moment."""
    shown = [*bridge.told("screen/open"), *bridge.told("screen/rows")]
    return [plain(row) for row in shown[-1]["rows"]] if shown else []


def until_rows(bridge: Extension, are_wanted: Callable[[list[str]], object]) -> list[str]:
    """What the screen shows, as soon as it is as wanted."""
    while not are_wanted(shown := rows(bridge)):
        try:
            assert bridge.next() is not None, f"the bridge hung up and showed {shown}"
        except queue.Empty:
            pytest.fail(f"the screen stayed at {shown}")
    return shown


def until_row(bridge: Extension, part: str) -> str:
    """The row with these words, as soon as there is one."""
    return next(row for row in until_rows(bridge, lambda shown: part in "\n".join(shown)) if part in row)


def press(bridge: Extension, *keys: str) -> None:
    (screen,) = {shown["screen"] for shown in bridge.told("screen/open")}
    for key in keys:
        bridge.tell("screen/key", {"screen": screen, "key": key, "height": 10})


def choosing(chosen: dict[str, str]) -> Callable[[dict[str, Any]], str]:
    """Answers of somebody who chooses by a word of the question, and takes what stands first otherwise."""
    return lambda asked: next(
        (answer for word, answer in chosen.items() if word in asked["title"]), asked["options"][0]
    )


def test_a_profile_is_created_edited_shown_and_deleted_through_dialogs(desk: Desk) -> None:
    path = desk.stage.project / ".pi" / "agent-profiles" / "reviewer.md"
    with desk.bridge() as bridge:
        bridge.tell("host/models", {"models": [{"provider": "acme", "id": "large"}, {"provider": "ours", "id": "x"}]})
        bridge.tell("host/tools", {"names": ["read", "grep", "subagent"]})
        chosen = {"Provider": "acme", "Model": "large"}
        bridge.answers |= {"dialog/select": choosing(chosen), "dialog/confirm": lambda asked: False}
        chosen["Scope"] = "Project (.pi/agent-profiles/)"
        bridge.run_command("profile", "create reviewer")
        assert path.read_text() == "---\nname: reviewer\nprovider: acme\nmodel: large\n---\n"
        offered = next(asked for asked in bridge.told("dialog/select") if "Provider" in asked["title"])
        assert {"acme", "ours"} <= set(offered["options"])
        assert bridge.told("ui/notify")[-1] == {"message": f'Saved the profile "reviewer": {path}', "level": "info"}

        bridge.run_command("profile", "show reviewer")
        assert "model: large" in bridge.told("ui/notify")[-1]["message"]
        found = bridge.ask("command/complete", {"command": "profile", "prefix": "show re"})
        assert [(one["value"], one["label"]) for one in found] == [("show reviewer", "reviewer")]
        assert bridge.ask("command/complete", {"command": "subagents", "prefix": "x"}) == []

        bridge.run_command("profile", "delete reviewer")
        assert path.exists(), "nobody confirmed it"
        bridge.answers["dialog/confirm"] = lambda asked: True
        bridge.run_command("profile", "rm reviewer")
        assert not path.exists()


@pytest.mark.parametrize(("choice", "field"), [("Allowlist", "tools"), ("Blacklist", "excludeTools")])
def test_the_wizard_offers_the_tools_that_pi_has_but_not_our_own(desk: Desk, choice: str, field: str) -> None:
    path = desk.stage.project / ".pi" / "agent-profiles" / "reader.md"
    chosen = {"Scope": "Project (.pi/agent-profiles/)", "Restrict the tools": "Yes", "7 of 10": choice}
    with desk.bridge() as bridge:
        bridge.tell("host/tools", {"names": ["read", "grep", "find", "ls", "lookup", "subagent", "background_agent"]})
        bridge.answers |= {
            "dialog/select": choosing(chosen),
            "dialog/input": lambda asked: "grep,ls,lookup" if "Tools" in asked["title"] else "",
        }
        bridge.run_command("profile", "create reader")
        (asked,) = [asked["title"] for asked in bridge.told("dialog/input") if "Tools" in asked["title"]]
        assert asked.endswith("(available: read, grep, find, ls, lookup, bash, edit, write)")
        assert not [asked for asked in bridge.told("dialog/select") if "Not known here" in asked["title"]]
    assert f"{field}: grep,ls,lookup\n" in path.read_text()


def test_a_text_that_a_profile_has_is_changed_in_the_editor(desk: Desk) -> None:
    path = desk.stage.project / ".pi" / "agent-profiles" / "quick.md"
    with desk.bridge() as bridge:
        bridge.answers |= {
            "dialog/select": choosing({"System prompt": "Yes"}),
            "dialog/input": lambda asked: "",
            "dialog/editor": lambda asked: asked["text"].replace("quick", "slow"),
        }
        bridge.run_command("profile", "edit quick")
        assert {"title": "Step 4 of 10: System prompt", "text": "Be quick."} in bridge.told("dialog/editor")
    assert path.read_text().endswith("Be slow.\n")


def test_a_command_that_waits_for_a_person_ends_with_the_conversation(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.begin("command/run", {"command": "profile", "arguments": "create another"})
        bridge.heard("dialog/select")
        assert bridge.hang_up() == 0


def test_the_list_shows_runs_live_and_a_run_can_be_read_and_stopped(desk: Desk, tmp_path: Path) -> None:
    with desk.bridge() as bridge:
        bridge.answers |= {"screen/open": lambda asked: 10, "dialog/confirm": lambda asked: True}
        bridge.delegate([DONE])
        story = prints(AGENT_START, assistant("I will look around.", tool_call("ls", path="src")))
        long_one = {"name": "the long one", "prompt": script(story, pauses(300))}
        call = bridge.begin_call("delegate_to_subagents", {"tasks": [long_one]})
        bridge.hear(lambda message: "I will look around." in str(message))
        command = bridge.begin("command/run", {"command": "subagents"})

        assert until_row(bridge, "the long one").startswith("▸ ⏳ the long one")
        assert until_row(bridge, "task 1").startswith("  ✓ task 1")
        press(bridge, "down")
        assert until_row(bridge, "▸ ✓ task 1").endswith("All is well.")
        press(bridge, "up", "enter")
        until_rows(bridge, lambda shown: shown == ["I will look around.", '→ ls: {"path":"src"}'])
        press(bridge, "escape", "x")
        assert not bridge.result(call)["text"].startswith("✓")
        assert "the long one" in bridge.told("dialog/confirm")[0]["title"]
        until_row(bridge, "▸ ✗ the long one")
        press(bridge, "escape")
        assert bridge.result(command) is None
        bridge.heard("screen/close")


def test_a_run_whose_harness_listens_can_be_steered(desk: Desk, tmp_path: Path) -> None:
    desk.stage.write_profile("listener", "harness: pi-rpc")
    with desk.bridge() as bridge:
        bridge.answers |= {"screen/open": lambda asked: True, "dialog/input": lambda asked: "Hurry up."}
        heard = [repeats_steering(), prints(agent_end(), AGENT_SETTLED)]
        call = bridge.begin_tasks([prints(AGENT_START), touches(tmp_path / "there"), *heard], profile="listener")
        until((tmp_path / "there").exists)
        command = bridge.begin("command/run", {"command": "subagents"})
        until_row(bridge, "▸ ⏳ task 1")
        press(bridge, "s")
        said = bridge.result(call)
        assert "Hurry up." in str(said["details"]["windows"][0]["lines"])
        bridge.tell("screen/closed", {"screen": bridge.told("screen/open")[0]["screen"]})
        bridge.result(command)


def test_a_run_that_does_not_listen_says_so(desk: Desk) -> None:
    desk.stage.write_profile("deaf", "harness: pi-json")
    with desk.bridge() as bridge:
        bridge.answers |= {"screen/open": lambda asked: True, "dialog/input": lambda asked: "Hurry up."}
        bridge.begin_tasks([prints(AGENT_START), pauses(300)], profile="deaf")
        bridge.heard("tool/update")
        bridge.begin("command/run", {"command": "subagents"})
        until_row(bridge, "▸ ⏳ task 1")
        press(bridge, "s")
        notice = bridge.heard("ui/notify", level="warning")["message"]
        assert "its agent uses the harness pi-json" in notice
        assert '"harness: pi-rpc" in its profile' in notice
        assert not bridge.told("dialog/input")


def test_a_long_list_and_a_long_text_never_have_more_rows_than_there_is_room(desk: Desk) -> None:
    with desk.bridge() as bridge:
        bridge.answers |= {"screen/open": lambda asked: 4}
        story = "\n".join(f"line {number} {'word ' * 30}" for number in range(40))
        for _ in range(3):
            bridge.delegate([DONE])
            bridge.delegate([prints(*answer(story))])  # a call of its own: what is newest stands first
        bridge.begin("command/run", {"command": "subagents"})
        screen = bridge.heard("screen/open")["screen"]
        until_rows(bridge, lambda shown: shown[0].startswith("▸"))
        for key, are_wanted in (
            ("end", lambda shown: shown[-1].startswith("▸")),
            ("up", lambda shown: shown[-2].startswith("▸")),
            ("home", lambda shown: shown[0].startswith("▸")),
            ("enter", lambda shown: any(row.startswith("line") for row in shown)),
            ("home", lambda shown: shown[0].startswith("line 0 ")),
            ("down", lambda shown: not shown[0].startswith("line 0 ")),
            ("pagedown", lambda shown: any(row.startswith("line 2 ") for row in shown)),
            ("end", lambda shown: any(row.startswith("line 39 ") for row in shown)),
            ("escape", lambda shown: shown[0].startswith("▸")),
        ):
            bridge.tell("screen/key", {"screen": screen, "key": key, "height": 4})
            until_rows(bridge, are_wanted)
        bridge.tell("screen/key", {"screen": screen, "key": "escape", "height": 4})
        bridge.heard("screen/close")
        shown = [(params["title"], [plain(row) for row in params["rows"]]) for params in bridge.told("screen/rows")]
        assert max(len(rows_) for _, rows_ in shown) <= 4
        assert max(len(row) for _, rows_ in shown for row in rows_ if row.startswith("line")) <= 78
        lists = [rows_ for title, rows_ in shown if title == "Sub-agents"]
        assert all(sum(row.startswith("▸") for row in rows_) == 1 for rows_ in lists), "what is chosen is always seen"


@pytest.mark.parametrize("action", ["read", "stop"])
def test_without_a_terminal_the_runs_are_chosen_in_dialogs(desk: Desk, action: str) -> None:
    with desk.bridge() as bridge:
        words = {"read": "Read what it said and did", "stop": "Stop it"}[action]
        bridge.answers |= {
            "screen/open": lambda asked: False,
            "dialog/select": lambda asked: words if words in asked["options"] else asked["options"][0],
            "dialog/confirm": lambda asked: True,
        }
        bridge.run_command("subagents")
        assert bridge.told("ui/notify")[-1]["message"].startswith("No sub-agents")
        call = bridge.begin_tasks([prints(AGENT_START, assistant("Here I am.")), pauses(300)])
        bridge.hear(lambda message: "Here I am." in str(message))
        bridge.run_command("subagents")
        if action == "read":
            assert bridge.told("ui/notify")[-1] == {"message": "Here I am.", "level": "info"}
            bridge.tell("tool/cancel", {"call": "c"})
        bridge.result(call)
        (run_dir,) = desk.stage.run_dirs
        assert load_run(run_dir).status is Status.ABORTED


def test_a_command_that_there_is_not_is_refused(desk: Desk) -> None:
    with desk.bridge() as bridge:
        refusal = bridge.answer(bridge.begin("command/run", {"command": "dance"}))["error"]
        assert "unknown command /dance" in refusal["message"]


def test_what_a_project_writes_does_not_reach_pis_terminal_as_escapes(desk: Desk) -> None:
    evil = "\x1b]0;title\x07\x1b[2J\x9b31m\u202elink"
    desk.stage.write(f".pi/agent-profiles/a{evil}.md", "nothing")
    desk.stage.write_profile("b", f"model: {json.dumps(evil)}", body=evil)
    with desk.bridge() as bridge:
        bridge.answers |= {"dialog/select": lambda asked: asked["options"][-1], "dialog/confirm": lambda asked: False}
        for arguments in ("list", "show b", "delete b", f"show a{evil}"):
            bridge.run_command("profile", arguments)
        told = json.dumps([bridge.told(f"{kind}") for kind in ("ui/notify", "dialog/select", "dialog/confirm")])
    assert "link" in told
    assert not [sign for sign in ("\\u001b", "\\u0007", "\\u009b", "\\u202e") if sign in told]
