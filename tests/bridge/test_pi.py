"""The bridge with the real pi as the agent."""

from __future__ import annotations

import pytest

from pi_subagents.offline import Say, Script
from tests.bridge.kit import Desk
from tests.kit.waiting import until
from tests.pi.stage import Play

MARKING = """
import { writeFileSync } from "node:fs";
export default function () { writeFileSync(process.env.MARK_FILE!, "loaded"); }
"""


@pytest.mark.parametrize("trusted", [True, False])
def test_a_delegation_is_shown_counted_and_does_with_the_project_what_was_decided(play: Play, trusted: bool) -> None:
    place = play(Script().otherwise([Say("Nothing was found.")]))
    mark = place.root / "mark"
    place.write(".pi/extensions/mark.ts", MARKING)
    place.environ["MARK_FILE"] = str(mark)
    with Desk(place).bridge(trusted=trusted) as bridge:
        arguments = {"tasks": [{"name": "scout", "prompt": "Look around."}]}
        result = bridge.call("delegate_to_subagents", arguments)
        assert not result["isError"], result["text"]
        (window,) = result["details"]["windows"]
        assert [line["text"] for line in window["lines"]] == ["Nothing was found."]
        assert result["usage"]["totalTokens"] > 0
        assert result["usage"]["totalTokens"] == window["usage"]["totalTokens"]
    assert mark.exists() is trusted


def test_a_warm_agent_is_kept_for_the_next_call_and_ends_with_the_bridge(play: Play) -> None:
    place = play(Script().otherwise([Say("Nothing was found.")]))
    place.write_settings(warmAgents=True)
    desk = Desk(place)
    arguments = {"tasks": [{"name": "scout", "prompt": "Look around."}]}
    with desk.bridge() as bridge:
        assert not bridge.call("delegate_to_subagents", arguments)["isError"]
        kept = desk.agents()
        assert kept
        assert not bridge.call("delegate_to_subagents", arguments)["isError"]
        assert set(desk.agents()) == set(kept)
        assert bridge.hang_up() == 0
        until(lambda: not desk.agents())
