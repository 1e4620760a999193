"""`list_subagent_profiles`, as a model sees it."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.tools import ToolResult
from tests.kit.workplace import Workplace


async def listed(desk: Workplace) -> ToolResult:
    return await desk.tool("list_subagent_profiles")


async def test_without_profiles_it_says_where_to_put_them(tmp_path: Path) -> None:
    answer = await listed(Workplace(tmp_path))
    assert answer.to_json() == {
        "content": [
            {
                "type": "text",
                "text": "No subagent profiles found. "
                "Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.",
            }
        ],
        "details": {"count": 0},
        "isError": False,
    }


async def test_every_profile_is_a_line_with_everything_that_applies_in_the_ruled_order(tmp_path: Path) -> None:
    desk = Workplace(tmp_path)
    desk.write_profile("bare", is_global=True)
    desk.write_profile("hidden", "apiKey: sk-secret-key-123", "noTools: true", "tools: read", is_global=True)
    desk.write_profile(
        "full",
        *("loadSkills: [c]", "suggestedSkills: a,b", "tools: [read, ls]", "appendSystemPrompt: More."),
        *("thinkingLevel: off", "provider: zai", "model: glm"),
        body="You are full.",
    )
    desk.write_profile("less", "provider: zai", "excludeTools: bash,write")
    answer = await listed(desk)
    lines = {
        "bare": "profile: bare",
        "full": "profile: full, model=glm, thinking=off, custom-system-prompt, appended-system-prompt, "
        "tools=[read,ls], suggestedSkills=[a,b], loadSkills=[c]",
        "hidden": "profile: hidden, no-tools",
        "less": "profile: less, provider=zai, excludeTools=[bash,write]",
    }
    assert answer.text.splitlines() == list(lines.values())
    assert answer.details == {"count": 4, "profiles": lines}


async def test_the_projects_profile_is_shown_in_place_of_the_global_one(tmp_path: Path) -> None:
    desk = Workplace(tmp_path)
    desk.write_profile("p", "model: old", is_global=True)
    desk.write_profile("p", "model: new")
    assert (await listed(desk)).details == {"count": 1, "profiles": {"p": "profile: p, model=new"}}


async def test_a_broken_file_hides_no_other_and_is_named_with_its_line(tmp_path: Path) -> None:
    desk = Workplace(tmp_path)
    desk.write_profile("good")
    desk.write_profile("bad", "thinkingLevel: enormous")
    answer = await listed(desk)
    good, bad = answer.text.splitlines()
    assert good == "profile: good"
    assert bad.startswith(f"Cannot be used: {desk.project}/.pi/agent-profiles/bad.md:3: ")
    assert answer.details == {"count": 1, "profiles": {"good": "profile: good"}}
