"""Everything a file can say is classed as data or as a power, and every power is powerless in an untrusted project.

The cases are made from the table: a setting or field that nobody has classed fails here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.delegation.planning import Plan, Planner
from pi_subagents.models import Task
from pi_subagents.place import Place
from pi_subagents.profiles import PRESET, PROFILE, invalidate_profiles_cache
from pi_subagents.settings import _KEYS, Settings, load_settings
from pi_subagents.trust import FIELDS, SETTINGS

# What the rulings allow every project; whatever is not here has to be argued for.
HARMLESS_SETTINGS = {"maxLinesPerWindow", "commandPreviewWidth", "extend_timeout_debounce", "looping_tool_count"}
HARMLESS_FIELDS = {
    *("name", "description", "provider", "model", "thinkingLevel", "tools", "excludeTools", "noTools", "noExtensions"),
    *("noSkills", "noContextFiles", "appendSystemPrompt", "timeout"),
    *("maxTurns", "maxCost"),
}
ARGUED_FOR = {"resumeMode", "maxResumeCharacters", "suggestedSkills", "loadSkills"}
"""They choose what an agent is told; skills from outside of the project are refused where they are resolved."""

# A value for each setting that is not its default.
VALUES: dict[str, Any] = {
    "maxLinesPerWindow": 20,
    "commandPreviewWidth": 80,
    "extend_timeout_debounce": 1,
    "looping_tool_count": 7,
    "piCommand": "/bin/true",
    "containment": "none",
    "resumeMode": "native",
    "harness": "pi-rpc",
    "runner": "tmux",
    "warmAgents": True,
}
FIELD_VALUES: dict[str, str] = {
    "extensions": "[./x.ts]",
    "apiKey": "sk-0123456789abcdef",
    "extraArgs": "[--approve]",
    "harness": "pi-rpc",
    "noTools": "true",
    "noExtensions": "true",
    "noSkills": "true",
    "noContextFiles": "true",
    "thinkingLevel": "high",
    "resumeMode": "native",
    "timeout": "60",
    "suggestedSkills": "",
    "loadSkills": "",
    "agent": "claude",
    "program": "./claude",
    "mode": "acceptEdits",
    "approvals": "allow",
    "inherit": "true",
    "maxTurns": "3",
    "maxCost": "0.5",
}
FOR_OTHERS_THAN_PI = ("agent", "program", "mode", "approvals", "inherit", "maxTurns", "maxCost")


def test_every_setting_and_every_field_is_classed() -> None:
    assert SETTINGS.keys() == _KEYS.keys()
    assert FIELDS.keys() == PROFILE.fields.keys() | PRESET.fields.keys()


def test_only_what_describes_or_restricts_is_data() -> None:
    data = {key for table in (SETTINGS, FIELDS) for key, power in table.items() if power is None}
    assert data == HARMLESS_SETTINGS | HARMLESS_FIELDS | ARGUED_FOR


@pytest.fixture
def place(tmp_path: Path) -> Place:
    invalidate_profiles_cache()
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    return Place(project, tmp_path / "agent", {})


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_of_an_untrusted_project_counts_only_if_it_is_data(name: str, place: Place) -> None:
    path = place.project / ".pi" / "settings.json"
    path.write_text(json.dumps({"subagents": {name: VALUES.get(name, 1234)}}))
    key = _KEYS[name]
    distrusted, trusted = place.settings(), load_settings(place.cwd, place.agent_dir, trusted=True)
    default = getattr(Settings(), key.field)
    assert getattr(trusted, key.field) != default, "this test needs a value that is not the default"
    if SETTINGS[name] is None:
        assert getattr(distrusted, key.field) == getattr(trusted, key.field)
        assert distrusted.warnings == trusted.warnings == ()
    else:
        assert getattr(distrusted, key.field) == default
        (warning,) = distrusted.warnings
        assert warning == (
            f"{path}:1: subagents.{name} ({SETTINGS[name]}) has no effect, because {place.project} is not trusted; "
            f"if you trust it, run: pi-subagents trust {place.project}"
        )


def plan(place: Place, kind: str, agent: str | None = None) -> Plan:
    task = Task("t", "x", profile="p", agent=agent) if kind == "profile" else Task("t", "x", preset="p", agent=agent)
    return Planner(place).plan(task)


@pytest.mark.parametrize("kind", ["profile", "preset"])
@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("name", "description", "model")])
def test_a_profile_of_an_untrusted_project_is_used_only_if_it_is_data(name: str, kind: str, place: Place) -> None:
    folder = place.project / ".pi" / {"profile": "agent-profiles", "preset": "subagents"}[kind]
    folder.mkdir()
    path = folder / "p.md"
    text = f"---\nname: p\ndescription: d\nmodel: acme/m\n{name}: {FIELD_VALUES.get(name, 'x')}\n"
    path.write_text(f"{text}---\nHi\n")
    agent = "claude" if name in FOR_OTHERS_THAN_PI else None
    planned = plan(place, kind, agent)
    if FIELDS[name] is None:
        assert planned.problem is None
        return
    assert planned.problem == (
        f'{kind.capitalize()} "p" cannot be used: {path}: "{name}" ({FIELDS[name]}) cannot be used, because '
        f"{place.project} is not trusted; if you trust it, run: pi-subagents trust {place.project}"
    )
    assert planned.profile is None, "nothing of it reaches the agent"
    trusting = Place(place.cwd, place.agent_dir, {}, trusts_project=True)
    if agent and name != "agent":
        path.write_text(f"{text}agent: {agent}\n---\nHi\n")
        invalidate_profiles_cache()
    assert plan(trusting, kind).problem is None


def test_a_profile_of_a_project_is_not_given_skills_from_elsewhere(place: Place, tmp_path: Path) -> None:
    skill = place.agent_dir / "skills" / "mine" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: mine\ndescription: d\n---\nPrivate.\n")
    folder = place.project / ".pi" / "agent-profiles"
    folder.mkdir()
    (folder / "p.md").write_text("---\nname: p\nloadSkills: mine\n---\n")
    problem = plan(place, "profile").problem
    assert problem is not None
    assert f'skill "mine" ({skill}) is outside the project' in problem
    assert f"pi-subagents trust {place.project}" in problem


def test_a_profile_of_the_users_is_not_given_a_strangers_skill_of_the_same_name(place: Place) -> None:
    for base, text in ((place.project / ".pi", "Theirs."), (place.agent_dir, "Mine.")):
        path = base / "skills" / "review" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: review\ndescription: d\n---\n{text}\n")
    (place.agent_dir / "agent-profiles").mkdir()
    (place.agent_dir / "agent-profiles" / "p.md").write_text("---\nname: p\nloadSkills: review\n---\n")
    profile = plan(place, "profile").profile
    assert profile is not None
    assert "Mine." in (profile.append_system_prompt or "")
    invalidate_profiles_cache()
    trusting = plan(Place(place.cwd, place.agent_dir, {}, trusts_project=True), "profile").profile
    assert trusting is not None
    assert "Theirs." in (trusting.append_system_prompt or ""), "as pi itself chooses"
