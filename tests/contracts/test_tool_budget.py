"""What the tools cost a model that never uses them: their definitions are part of every request."""

from __future__ import annotations

import json

from pi_subagents.tools import TOOLS

MAX_TOKENS = 1500
CHARACTERS_PER_TOKEN = 3.5
"""Fewer than English prose has, because JSON is full of short words and signs."""


def test_all_tools_together_stay_below_the_budget() -> None:
    definitions = json.dumps([tool.to_json() for tool in TOOLS.values()], ensure_ascii=False, separators=(",", ":"))
    assert len(definitions) / CHARACTERS_PER_TOKEN < MAX_TOKENS


def test_the_tools_are_these_seven() -> None:
    assert list(TOOLS) == [
        "delegate_to_subagents",
        "get_subagent_output",
        "get_subagent_session",
        "list_subagent_profiles",
        "subagent",
        "background_agent",
        "background_agent_status",
    ]
