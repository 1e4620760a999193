"""`list_subagent_profiles`, as a model sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi_subagents.place import Place
from pi_subagents.tools import ToolContext, ToolResult, call_tool


class Desk:
    """A project and an agent directory, both empty."""

    def __init__(self, root: Path) -> None:
        self.project = root / "project"
        self.agent_dir = root / "agent"
        (self.project / ".pi").mkdir(parents=True)

    def write(self, scope: str, name: str, *lines: str) -> None:
        folder = (self.agent_dir if scope == "global" else self.project / ".pi") / "agent-profiles"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text("\n".join(["---", f"name: {name}", *lines]))

    async def list(self, arguments: Any = None) -> ToolResult:
        place = Place.here(self.project, {"PI_AGENT_DIR": str(self.agent_dir)})
        return await call_tool("list_subagent_profiles", arguments or {}, ToolContext(place))


async def test_without_profiles_it_says_where_to_put_them(tmp_path: Path) -> None:
    answer = await Desk(tmp_path).list()
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
    desk = Desk(tmp_path)
    desk.write("global", "bare", "---")
    desk.write("global", "hidden", "apiKey: sk-secret-key-123", "noTools: true", "tools: read", "---")
    desk.write(
        "project",
        "full",
        *("loadSkills: [c]", "suggestedSkills: a,b", "tools: [read, ls]", "appendSystemPrompt: More."),
        *("thinkingLevel: off", "provider: zai", "model: glm", "---", "You are full."),
    )
    desk.write("project", "less", "provider: zai", "excludeTools: bash,write", "---")
    answer = await desk.list()
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
    desk = Desk(tmp_path)
    desk.write("global", "p", "model: old", "---")
    desk.write("project", "p", "model: new", "---")
    assert (await desk.list()).details == {"count": 1, "profiles": {"p": "profile: p, model=new"}}


async def test_a_broken_file_hides_no_other_and_is_named_with_its_line(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write("project", "good", "---")
    desk.write("project", "bad", "thinkingLevel: enormous", "---")
    answer = await desk.list()
    good, bad = answer.text.splitlines()
    assert good == "profile: good"
    assert bad.startswith(f"Cannot be used: {desk.project}/.pi/agent-profiles/bad.md:3: ")
    assert answer.details == {"count": 1, "profiles": {"good": "profile: good"}}
