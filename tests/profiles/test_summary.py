"""The one line and the details that people and models see of a profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi_subagents.models import Profile, Secret
from pi_subagents.profiles import detail_text, profile_detail, profile_summary


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({}, "profile: x"),
        ({"model": "m", "provider": "p"}, "profile: x, model=m"),
        ({"provider": "p"}, "profile: x, provider=p"),
        ({"thinking_level": "off"}, "profile: x, thinking=off"),
        ({"agent": "claude", "model": "opus"}, "profile: x, agent=claude, model=opus"),
        ({"no_tools": True, "tools": ("a",)}, "profile: x, no-tools"),
        ({"tools": ("a", "b")}, "profile: x, tools=[a,b]"),
        ({"exclude_tools": ("a", "b")}, "profile: x, excludeTools=[a,b]"),
        (
            {
                "model": "m",
                "thinking_level": "high",
                "system_prompt": "s",
                "append_system_prompt": "a",
                "tools": ("read",),
                "suggested_skills": ("s1", "s2"),
                "load_skills": ("l",),
                "api_key": Secret("sk-very-secret-key"),
                "extra_args": ("--x",),
            },
            "profile: x, model=m, thinking=high, custom-system-prompt, appended-system-prompt, tools=[read], "
            "suggestedSkills=[s1,s2], loadSkills=[l]",
        ),
    ],
)
def test_the_summary_is_a_comma_list_in_the_ruled_order(fields: dict[str, Any], summary: str) -> None:
    assert profile_summary(Profile(name="x", **fields)) == summary


def test_details_show_what_is_set_by_the_files_own_keys_with_the_key_masked() -> None:
    profile = Profile(
        name="x",
        model="m",
        tools=("read", "bash"),
        no_skills=True,
        api_key=Secret("sk-test-abc123"),
        system_prompt="You review.",
        path=Path("/p/x.md"),
        scope="project",
    )
    assert profile_detail(profile) == {
        "name": "x",
        "model": "m",
        "tools": ["read", "bash"],
        "noSkills": True,
        "apiKey": "sk-t****bc123",
        "systemPrompt": "You review.",
        "scope": "project",
        "path": "/p/x.md",
    }


def test_a_program_is_shown_as_it_is_typed_and_numbers_as_they_are() -> None:
    profile = Profile(name="x", agent="acp", program=("my agent", "--acp"), max_turns=5, max_cost=0.5, inherit=True)
    lines = detail_text(profile).splitlines()
    assert lines == [
        "name: x",
        "agent: acp",
        "program: 'my agent' --acp",
        "inherit: True",
        "maxTurns: 5",
        "maxCost: 0.5",
    ]
